"""Files that name sources: our ``sources.yml``, and gpkg's ``registry.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wheelmill.client.records import Source, SourceKind, SourceList
from wheelmill.config.fields import Architectures, ConfigFile, Entry, KeyPath, Name, Range, Text
from wheelmill.config.read import read_file
from wheelmill.errors import ConfigurationError
from wheelmill.names import project_name
from wheelmill.web.credentials import github_api

_KINDS: Final = {"github": SourceKind.GITHUB, "simple": SourceKind.SIMPLE, "find_links": SourceKind.FIND_LINKS}


@dataclass(frozen=True, kw_only=True)
class SourceEntry(Entry):
    """One source."""

    description: Text = ""
    github: Text | None = None
    """A repository with wheels among the assets of its releases: ``OWNER/REPOSITORY``."""
    simple: Text | None = None
    """The URL of a simple index."""
    find_links: Text | None = None
    """The URL of a page of links."""
    projects: tuple[Name, ...] = ()
    """What it has; anything, when this is left out."""
    distribution: Name | None = None
    """What its wheels are called, where that is not the project's name."""
    gpus: Architectures | None = None
    """The only GPU architectures that its wheels are for."""
    torch: Range | None = None
    """The torch its wheels are for, where their names do not say."""


@dataclass(frozen=True, kw_only=True)
class SourcesFile(ConfigFile):
    """``sources.yml``."""

    site: Text | None = None
    """The site of an index that has a newer copy of this file."""
    sources: Mapping[Text, SourceEntry]

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """A source that is found in no way or in two, or a repository that is none."""
        for name, entry in self.sources.items():
            given = [key for key in _KINDS if getattr(entry, key) is not None]
            if len(given) != 1:
                yield ("sources", name), f"expected one of {', '.join(_KINDS)}, found {' and '.join(given) or 'none'}"
            elif given == ["github"]:
                try:
                    github_releases(str(entry.github))
                except ValueError as error:
                    yield ("sources", name, "github"), str(error)


def read_sources_file(path: Path) -> SourceList:
    """Read a file of sources: ``.toml`` is gpkg's form, anything else ours.

    Raises:
        ConfigurationError: with every fault.
    """
    if path.suffix == ".toml":
        return SourceList(site=None, sources=_read_registry(path))
    faults: list[str] = []
    file = read_file(path, SourcesFile, faults)
    if file is None:
        raise ConfigurationError(tuple(faults))
    return SourceList(site=file.site, sources=tuple(_source_of(name, entry) for name, entry in file.sources.items()))


def github_releases(repository: str) -> str:
    """The URL of a repository's releases in GitHub's REST API.

    Raises:
        ValueError: it is not named as ``OWNER/REPOSITORY``.
    """
    parts = repository.split("/")
    if len(parts) != 2 or not all(part and set(part) <= _REPOSITORY and part.strip(".") for part in parts):  # noqa: PLR2004
        raise ValueError(f"expected OWNER/REPOSITORY, not {repository!r}")
    return f"{github_api()}/repos/{repository}/releases"


_REPOSITORY: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


def _source_of(name: str, entry: SourceEntry) -> Source:
    (key,) = (key for key in _KINDS if getattr(entry, key) is not None)
    place = str(getattr(entry, key))
    return Source(
        name=name,
        kind=_KINDS[key],
        url=github_releases(place) if key == "github" else place,
        description=entry.description,
        projects=frozenset(entry.projects),
        distribution=entry.distribution,
        gpus=entry.gpus or (),
        torch=entry.torch,
    )


class _RegistryEntry(BaseModel):
    """A source as gpkg 0.4.3 knows it. What its templates and styles say is read from the names of the wheels."""

    model_config = ConfigDict(extra="ignore")

    package: str
    description: str = ""
    type: str = "github"
    repo: str = ""
    url_template: str = ""
    wheel_name: str = ""
    torch_format: str = "minor"
    torch_compat: str = ""


class _Registry(BaseModel):
    sources: Annotated[list[_RegistryEntry], Field(min_length=1)]


def _read_registry(path: Path) -> tuple[Source, ...]:
    try:
        registry = _Registry.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError((f"{path.name}: {error}",)) from None
    except ValidationError as error:
        raise ConfigurationError(
            tuple(f"{path.name}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        ) from None
    found, faults = [], []
    for number, entry in enumerate(registry.sources):
        try:
            found.append(_registered(entry))
        except (ValueError, InvalidSpecifier) as error:
            faults.append(f"{path.name}: sources.{number}: {error}")
    if faults:
        raise ConfigurationError(tuple(faults))
    return tuple(found)


def _registered(entry: _RegistryEntry) -> Source:
    project = project_name(entry.package)
    written = entry.wheel_name.partition("-{")[0]
    distribution = project_name(written) if written and "{" not in written else project
    if entry.type == "github":
        kind, url = SourceKind.GITHUB, github_releases(entry.repo)
    elif entry.type == "find-links":
        packed = "{torch_packed}" if entry.torch_format == "packed" else "{torch}"
        kind, url = SourceKind.FIND_LINKS, entry.url_template.replace("{torch}", packed)
    else:
        raise ValueError(f"type: expected github or find-links, not {entry.type!r}")
    return Source(
        name=entry.repo or entry.url_template,
        kind=kind,
        url=url,
        description=entry.description,
        projects=frozenset({project}),
        distribution=None if distribution == project else distribution,
        torch=SpecifierSet(entry.torch_compat) if entry.torch_compat else None,
    )
