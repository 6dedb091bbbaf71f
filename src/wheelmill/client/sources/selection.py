"""Where wheels are looked for: the sources that ship, and those that a person names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from wheelmill.client.records import Source, SourceKind, SourceList
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.config.model.sources import github_releases
from wheelmill.errors import UsageError
from wheelmill.system import resources
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.plain_records import plain_of, record_of
from wheelmill.web.credentials import github_api, without_credentials

SHIPPED: Final = resources.CONFIG / "sources.yml"


def read_sources(
    named: Sequence[str],
    extra: Sequence[str],
    cache: PageCache,
    newer_at: Callable[[str], Path | None] = lambda _site: None,
) -> tuple[Source, ...]:
    """Read the sources to look in, in the order of preference.

    Args:
        named: ``--source``, which replaces those that ship; so does ``WHEELMILL_SOURCES``, where words are sources.
        extra: the sources of ``--extra-source``, which come first.
        cache: the cache of source files that were read before.
        newer_at: gives the list of a site, to be read in place of the one that ships; None when it has none. The site
            is the one that the shipped list names, or ``WHEELMILL_SITE``; empty, that leaves it at the shipped list.

    Raises:
        UsageError: a text is no source.
        ConfigurationError: a file of sources is wrong.
    """
    first = [source for text in extra for source in _sources_at(text, cache)]
    if chosen := list(named) or os.environ.get("WHEELMILL_SOURCES", "").split():
        return (*first, *(source for text in chosen for source in _sources_at(text, cache)))
    shipped = _read_file(SHIPPED, cache)
    site = os.environ.get("WHEELMILL_SITE", shipped.site)
    newer = newer_at(_check_url("WHEELMILL_SITE", site)) if site else None
    return (*first, *(_read_file(newer, cache) if newer else shipped).sources)


def _sources_at(text: str, cache: PageCache) -> tuple[Source, ...]:
    """What one word stands for.

    ``simple:URL``, ``find-links:URL``, ``github:OWNER/REPOSITORY``, a file; a URL alone is a simple index when its path
    ends with ``simple``, else a page of links.
    """
    kind, _, rest = text.partition(":")
    match kind:
        case "simple" | "find-links":
            return (_source_at(SourceKind(kind), rest),)
        case "github":
            try:
                return (Source(name=rest, kind=SourceKind.GITHUB, url=github_releases(rest)),)
            except ValueError as error:
                raise UsageError(f"--source {text}: {error}") from None
        case _ if rest.startswith("//"):
            is_simple = urlsplit(_check_url("--source", text)).path.rstrip("/").endswith("simple")
            return (_source_at(SourceKind.SIMPLE if is_simple else SourceKind.FIND_LINKS, text),)
        case _:
            return _read_file(Path(text), cache).sources


def _source_at(kind: SourceKind, url: str) -> Source:
    return Source(name=without_credentials(_check_url(f"--source {kind}", url)), kind=kind, url=url)


def _check_url(given_by: str, text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:  # "https://[": no host that could be read
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        shown = without_credentials(text) if parts else text
        raise UsageError(f"{given_by}: expected a URL that begins with https://, not {shown!r}")
    return text


def _read_file(path: Path, cache: PageCache) -> SourceList:
    """Read a file, or what the cache keeps of exactly this content: reading YAML takes longer than choosing."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"--source {path}: {error.strerror}",
            hint="give a file of sources, a URL, simple:URL, find-links:URL or github:OWNER/REPOSITORY",
        ) from None
    key = f"sources/3:{path.suffix}:{github_api()}:{sha256_of_bytes(content)}"
    kept = cache.fact(key)
    if kept is None:
        from wheelmill.client.sources.sources_file import read_sources_file  # noqa: PLC0415 - reads YAML

        found = read_sources_file(path)
        kept = json.dumps(plain_of(found))
        cache.keep_fact(key, kept)
    sources: SourceList = record_of(SourceList, json.loads(kept))
    return sources
