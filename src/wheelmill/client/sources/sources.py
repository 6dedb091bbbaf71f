"""Sources of wheels: the shipped ones, newer lists of them, and the user's own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from wheelmill.client.records import Search, Source, SourceKind, SourceList
from wheelmill.client.sources.pages import PageCache, cache_folder
from wheelmill.config.model.sources import listing_url
from wheelmill.errors import IntegrityError, UsageError, WheelmillError
from wheelmill.names import bounded
from wheelmill.system import own_installation
from wheelmill.system.files import read_bounded, sha256_of, sha256_of_bytes, write_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Warn
from wheelmill.system.records import plain_of, record_of
from wheelmill.web.budget import Budget
from wheelmill.web.credentials import Origin, github_api, keep_credential, without_credentials

if TYPE_CHECKING:
    from wheelmill.web.client import Web

SHIPPED: Final = own_installation.CONFIG / "sources.yml"
_LIFETIME: Final = 24 * 60 * 60
"""Seconds for which a list is used without asking whether there is a newer one."""
_SECONDS: Final = 10.0
"""For requesting a newer list, without which the last one serves."""


def read_sources(search: Search, cache: PageCache) -> tuple[Source, ...]:
    """Read the sources of wheels, in the order of preference.

    The ``extra`` sources come first. Those in ``named`` replace all others. Else those that the project declares
    follow; then the words of ``WHEELMILL_SOURCES``, which replace the shipped ones. Otherwise the list of a site counts
    if it has a newer one than the shipped list. The site is in ``WHEELMILL_SITE``, else in the shipped list; an empty
    one means the shipped list.
    """
    given = [
        replace(source, given=without_credentials(text) if ":" in text else str(Path(text).absolute()))
        for text in (*search.extra, *search.named)
        for source in sources_at(text, cache)
    ]
    if search.named:
        return tuple(given)
    given += sorted(search.declared, key=lambda each: not each.is_exclusive)
    if words := os.environ.get("WHEELMILL_SOURCES", "").split():
        return (*given, *(source for text in words for source in sources_at(text, cache)))
    shipped = _read_file(SHIPPED, cache)
    site = os.environ.get("WHEELMILL_SITE", shipped.site)
    newer = _newer_list(_keep_credential("WHEELMILL_SITE", site), search, cache.warnings.append) if site else None
    return (*given, *(_read_file(newer, cache) if newer else shipped).sources)


def keep_credentials(named: Sequence[str], extra: Sequence[str]) -> None:
    """Keep the credentials in the URLs of sources, for commands that search no source."""
    for text in (*named, *extra, *os.environ.get("WHEELMILL_SOURCES", "").split()):
        keep_credential(text.removeprefix("simple:").removeprefix("find-links:"))


def sources_at(text: str, cache: PageCache | None, given_by: str = "--source") -> tuple[Source, ...]:
    """Read the sources that one word names; a URL alone is a page of links, or an index if it ends with ``simple``."""
    if not text.isprintable():  # the files of a project keep it, in a line
        raise UsageError("source-invalid", f"{given_by}: {text!r} has characters that cannot be printed")
    kind, _, rest = text.partition(":")
    match kind:
        case "simple" | "find-links" | "github" | "huggingface":
            return (_source_at(SourceKind(kind), rest, given_by),)
        case _ if rest.startswith("//"):
            is_simple = urlsplit(_keep_credential(given_by, text)).path.rstrip("/").endswith("simple")
            return (_source_at(SourceKind.SIMPLE if is_simple else SourceKind.FIND_LINKS, text, given_by),)
        case _:
            return _read_file(Path(text), cache, given_by).sources


def _source_at(kind: SourceKind, text: str, given_by: str) -> Source:
    is_url = kind in (SourceKind.SIMPLE, SourceKind.FIND_LINKS)
    place = _keep_credential(f"{given_by} {kind}", text) if is_url else text
    try:
        return Source(name=place, kind=kind, url=listing_url(kind.replace("-", "_"), place))
    except ValueError as error:
        raise UsageError("source-invalid", f"{given_by} {kind}:{place.partition('?')[0]}: {error}") from None


def _keep_credential(given_by: str, text: str) -> str:
    """Remove the credentials from a URL, and keep them for its server."""
    try:
        Origin.of(bounded(text))
    except ValueError as error:
        raise UsageError("source-invalid", f"{given_by}: {error}") from None
    return keep_credential(text)


def _read_file(path: Path, cache: PageCache | None, given_by: str = "--source") -> SourceList:
    """Read a file, or its content from the cache: reading YAML takes longer than choosing."""
    try:
        content = read_bounded(path)
    except OSError as error:
        raise UsageError(
            "source-unreadable",
            f"{given_by} {path}: {error.strerror}",
            hint="give a file of sources, a URL, simple:URL, find-links:URL, github:OWNER/REPOSITORY or "
            "huggingface:OWNER/REPOSITORY",
        ) from None
    key = f"sources/4:{path.suffix}:{github_api()}:{sha256_of_bytes(content)}"
    kept = cache.fact(key) if cache else None
    if kept is None:
        from wheelmill.client.sources.sources_file import read_sources_file  # reads YAML

        source_list = read_sources_file(path)
        kept = json.dumps(plain_of(source_list))
        if cache:
            cache.keep_fact(key, kept)
    sources: SourceList = record_of(SourceList, json.loads(kept))
    return sources


def _newer_list(site: str, search: Search, warn: Warn) -> Path | None:
    """Return the list of sources of a site, which may be newer than the shipped one; None if it was never read.

    A list that is a day old is requested again; if the site does not give it, the last one stays in use.

    The hash of a list is in a file beside it. It shows changes, and guards against half of a deployment. It is no proof
    of origin: an attacker with access to the site could write both, as with everything that is installed from there.
    """
    if not search.use_cache:
        return None
    kept = cache_folder() / f"sources-{sha256_of_bytes(site.encode())[:16]}.yml"
    is_fresh = kept.exists() and 0 <= time.time() - kept.stat().st_mtime < _LIFETIME
    if not search.offline and (search.refresh or not is_fresh):
        search.progress.line(f"asking {site} for a newer list of sources")
        try:
            _update(kept, site, search.budget)
        except (WheelmillError, OSError) as error:
            which = "last list of sources" if kept.exists() else "list of sources that ships"
            warn(f"{site}: {error}; using the {which}")
        search.progress.line("")
    return kept if kept.exists() else None


def _update(kept: Path, site: str, budget: Budget) -> None:
    from wheelmill.client.sources.sources_file import read_sources_file  # reads YAML
    from wheelmill.index.tree import SOURCES, SOURCES_HASH

    def read(web: Web, base: str) -> tuple[str, bytes | None]:
        promised = web.read(f"{base}{SOURCES_HASH}").decode(errors="replace").partition(" ")[0]
        return promised, None if kept.exists() and sha256_of(kept) == promised else web.read(f"{base}{SOURCES}")

    ((_, answer),) = budget.ask(read, [f"{site.rstrip('/')}/"], seconds=_SECONDS)
    if isinstance(answer, WheelmillError):
        raise answer
    promised, content = answer
    if content is not None:
        if (actual := sha256_of_bytes(content)) != promised:
            raise IntegrityError(
                "sources-changed", f"{SOURCES} has sha256 {actual}; {SOURCES_HASH} says {promised or 'nothing'}"
            )
        with temporary_folder() as folder:
            path = folder / "sources.yml"
            path.write_bytes(content)
            read_sources_file(path)  # refuses a list of a newer form
        write_bytes(kept, content)
    now = time.time()  # as compared later: a disk of another machine has its own clock
    os.utime(kept, (now, now))
