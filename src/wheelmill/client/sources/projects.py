"""Which projects sources have, so that a name which none of them has can be answered with the one that was meant."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from typing import Final

from wheelmill.client.source_records import Source, SourceKind
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.errors import NetworkError, UnreadableError
from wheelmill.names import ProjectName, project_name
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE

_LARGEST: Final = 4 << 20
"""Bytes of a list of projects. Longer ones are those of everything there is, where nearly every slip is a name."""
_SECONDS: Final = 10.0
"""For asking for one, which is of use where a name is wrong and no loss where it is right."""


def known_projects(
    sources: Iterable[Source], cache: PageCache, *, answering: Container[Source] = ()
) -> set[ProjectName]:
    """The projects that sources are known to have.

    Args:
        sources: those that are looked in.
        cache: the pages that were read, and lists of projects from earlier on.
        answering: those that may be asked for their list of projects.
    """
    found: set[ProjectName] = set()
    for source in sources:
        if source.projects:
            found |= source.projects
            continue
        found |= set(_project_names(cache.projects_below(source.url.partition("{")[0])))
        if source.kind is SourceKind.SIMPLE:
            found |= _listed_at(source.url, cache, ask=source in answering and "{" not in source.url)
    return found


def _listed_at(url: str, cache: PageCache, *, ask: bool) -> set[ProjectName]:
    """The projects of a simple index, by its list or what was kept of it; none where it does not give one."""
    key = f"projects:{url}"
    if ask and (names := _ask_for_list(url)):
        cache.keep_fact(key, json.dumps(sorted(names)))
    return set(json.loads(cache.fact(key) or "[]"))


def _ask_for_list(url: str) -> set[ProjectName]:
    from wheelmill.web.client import ATTENDED, Web  # noqa: PLC0415 - not for what the cache has
    from wheelmill.web.json_pages import read_project_list  # noqa: PLC0415 - the same
    from wheelmill.web.pages import read_html  # noqa: PLC0415 - the same

    try:
        with Web(retries=ATTENDED, seconds=_SECONDS) as web:
            answer = web.get(f"{url.rstrip('/')}/", accept=f"{JSON_TYPE}, {HTML_TYPES[0]};q=0.1", limit=_LARGEST)
        if not answer.ok:
            return set()
        read = read_html if answer.content_type in HTML_TYPES else read_project_list
        links = read(answer.content, answer.url).links
    except (NetworkError, UnreadableError):
        return set()
    names = (link.text or link.url.partition("?")[0].rstrip("/").rpartition("/")[2] for link in links)
    return set(_project_names(name for name in names if not name.endswith(".whl")))


def _project_names(texts: Iterable[str]) -> Iterator[ProjectName]:
    """The texts that are names of projects; a page may link to anything."""
    for text in texts:
        with suppress(ValueError):
            yield project_name(text)
