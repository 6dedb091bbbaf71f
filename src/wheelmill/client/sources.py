"""Where wheels are looked for: the sources that ship, and those that a person names."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from packaging.specifiers import SpecifierSet

from wheelmill import resources
from wheelmill.client.credentials import github_api, without_credentials
from wheelmill.client.page_cache import PageCache
from wheelmill.client.records import Source, SourceKind
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, ProjectName


def read_sources(named: Sequence[str], extra: Sequence[str], cache: PageCache) -> tuple[Source, ...]:
    """Read the sources to look in, in the order of preference.

    Args:
        named: ``--source``, which replaces those that ship; so does ``WHEELMILL_SOURCES``, where words are sources.
        extra: ``--extra-source``, which come before the others.
        cache: keeps files that were read.

    Raises:
        UsageError: a text is no source.
        ConfigurationError: a file of sources is wrong.
    """
    chosen = list(named) or os.environ.get("WHEELMILL_SOURCES", "").split() or [str(resources.CONFIG / "sources.yml")]
    return tuple(source for text in (*extra, *chosen) for source in _sources_at(text, cache))


def _sources_at(text: str, cache: PageCache) -> tuple[Source, ...]:
    """What one word stands for.

    ``simple:URL``, ``find-links:URL``, ``github:OWNER/REPOSITORY``, a file; a URL alone is a simple index when its path
    ends with ``simple``, else a page of links.
    """
    kind, _, rest = text.partition(":")
    match kind:
        case "simple" | "find-links":
            return (_named(SourceKind(kind), rest),)
        case "github":
            from wheelmill.client.sources_file import github_releases  # noqa: PLC0415 - reads YAML

            try:
                return (Source(name=rest, kind=SourceKind.GITHUB, url=github_releases(rest)),)
            except ValueError as error:
                raise UsageError(f"--source {text}: {error}") from None
        case "http" | "https":
            is_simple = urlsplit(text).path.rstrip("/").endswith("simple")
            return (_named(SourceKind.SIMPLE if is_simple else SourceKind.FIND_LINKS, text),)
        case _:
            return _in_file(Path(text), cache)


def _named(kind: SourceKind, url: str) -> Source:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise UsageError(f"--source {kind}:{without_credentials(url)}: expected a URL that begins with https://")
    return Source(name=without_credentials(url), kind=kind, url=url)


def _in_file(path: Path, cache: PageCache) -> tuple[Source, ...]:
    """Read a file, or what the cache keeps of exactly this content: reading YAML takes longer than choosing."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"--source {path}: {error.strerror}",
            hint="give a file of sources, a URL, simple:URL, find-links:URL or github:OWNER/REPOSITORY",
        ) from None
    key = f"sources/1:{path.suffix}:{github_api()}:{hashlib.sha256(content).hexdigest()}"
    kept = cache.fact(key)
    if kept is None:
        from wheelmill.client.sources_file import read_sources_file  # noqa: PLC0415 - reads YAML

        kept = json.dumps([_plain(source) for source in read_sources_file(path)])
        cache.keep_fact(key, kept)
    return tuple(map(_source_of, json.loads(kept)))


def _plain(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "kind": source.kind,
        "url": source.url,
        "description": source.description,
        "projects": sorted(source.projects),
        "distribution": source.distribution,
        "gpus": list(map(str, source.gpus)),
        "torch": str(source.torch) if source.torch else None,
    }


def _source_of(plain: dict[str, Any]) -> Source:
    return Source(
        name=plain["name"],
        kind=SourceKind(plain["kind"]),
        url=plain["url"],
        description=plain["description"],
        projects=frozenset(map(ProjectName, plain["projects"])),
        distribution=plain["distribution"],
        gpus=tuple(map(Architecture.parse, plain["gpus"])),
        torch=SpecifierSet(plain["torch"]) if plain["torch"] else None,
    )
