"""``sources.yml``: other people's wheels that the client knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from wheelmill.config.fields import (
    Architectures,
    ConfigFile,
    Entry,
    Items,
    KeyPath,
    Name,
    Range,
    Text,
    WheelPlatforms,
    filled_with,
)
from wheelmill.names import ProjectName
from wheelmill.web.credentials import github_api

PLACES: Final = ("github", "huggingface", "simple", "find_links")
"""Keys of an entry of which exactly one is required."""

PLACEHOLDERS: Final = ("cuda", "torch", "torch_release", "torch_packed", "torch_digits")
"""Placeholders in the URL of an index or a page of links."""

_REPOSITORY: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, kw_only=True)
class SourceDescription(Entry):
    """Facts about the wheels of a source."""

    description: Text = ""
    projects: Annotated[frozenset[Name], Items()] = frozenset[ProjectName]()
    """Projects that it has; any, if left out."""
    distribution: Name | None = None
    """Name of its wheels if it is not the project's: nv-grouped-gemm of grouped-gemm."""
    gpus: Architectures = ()
    """The only GPU architectures that its wheels are for; any, when this is left out."""
    platforms: WheelPlatforms = ()
    """The only platforms that it has wheels for, so that it is not asked for others; any, when this is left out."""
    torch: Range | None = None
    """The torch its wheels are for, where their names do not say."""


@dataclass(frozen=True, kw_only=True)
class SourceEntry(SourceDescription):
    """One source, at one of four kinds of places."""

    github: Text | None = None
    """A repository with wheels among the assets of its releases: ``OWNER/REPOSITORY``."""
    huggingface: Text | None = None
    """A repository of models with wheels among its files: ``OWNER/REPOSITORY``."""
    simple: Text | None = None
    """The URL of a simple index, which may have the placeholders of ``find_links``."""
    find_links: Text | None = None
    """The URL of a page of links, one for each CUDA and torch where it has placeholders."""

    @property
    def places(self) -> Mapping[str, str]:
        """Named places by their keys: one, in a file without faults."""
        return {key: place for key in PLACES if (place := getattr(self, key)) is not None}


@dataclass(frozen=True, kw_only=True)
class Sources(ConfigFile):
    """``sources.yml``."""

    site: Text | None = None
    """The site of an index that has a newer copy of this file."""
    sources: Mapping[Text, SourceEntry]

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Sources without a place or with two, and invalid places."""
        for name, entry in self.sources.items():
            if len(entry.places) != 1:
                named = " and ".join(entry.places) or "none"
                yield ("sources", name), f"expected one of {', '.join(PLACES)}, found {named}"
                continue
            ((key, place),) = entry.places.items()
            try:
                listing_url(key, place)
            except ValueError as error:
                yield ("sources", name, key), str(error)


def listing_url(key: str, place: str) -> str:
    """Return the URL that lists the wheels of a source, by the key of its kind; raises ValueError for a wrong place."""
    urls = {
        "github": f"{github_api()}/repos/{place}/releases",
        "huggingface": f"https://huggingface.co/api/models/{place}/tree/main?recursive=true",
    }
    if key not in urls:
        if key == "simple" and "?" in place:  # the pages of projects are below its path
            raise ValueError("expected the URL of a simple index without '?': credentials.toml takes tokens")
        return filled_with(place, PLACEHOLDERS)
    parts = place.split("/")
    if len(parts) != 2 or not all(part and set(part) <= _REPOSITORY and part.strip(".") for part in parts):  # noqa: PLR2004
        raise ValueError(f"expected OWNER/REPOSITORY, not {place!r}")
    return urls[key]
