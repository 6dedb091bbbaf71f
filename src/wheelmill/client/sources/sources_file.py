"""Files that name sources: our ``sources.yml``, and gpkg's ``registry.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wheelmill.client.records import Source, SourceKind, SourceList
from wheelmill.config.model.sources import SourceDescription, SourceEntry, Sources, listing_url
from wheelmill.config.yaml import read_file
from wheelmill.errors import ConfigurationError
from wheelmill.names import project_name, read_range
from wheelmill.system.files import read_bounded
from wheelmill.web.credentials import without_credentials


def read_sources_file(path: Path) -> SourceList:
    """Read a file of sources: ``.toml`` is in gpkg's form, anything else in ours."""
    if path.suffix == ".toml":
        source_list = SourceList(site=None, sources=_read_registry(path))
    else:
        file = read_file(path, Sources)
        sources = tuple(_source_of(name, entry) for name, entry in file.sources.items())
        source_list = SourceList(site=file.site, sources=sources)
    urls = [*(source.url for source in source_list.sources), source_list.site or ""]
    if open_secrets := [shown for url in urls if (shown := without_credentials(url)) != url]:
        fault = "a file of sources is not the place for a password: put it into credentials.toml"
        raise ConfigurationError(tuple(f"{path.name}: {shown}: {fault}" for shown in open_secrets))
    return source_list


def _source_of(name: str, entry: SourceEntry) -> Source:
    ((key, place),) = entry.places.items()
    facts = {field.name: getattr(entry, field.name) for field in fields(SourceDescription)}
    kind = SourceKind(key.replace("_", "-"))
    return Source(name=name, kind=kind, url=listing_url(key, place), **facts)


class _RegistryEntry(BaseModel):
    """A source in the form of gpkg 0.4.3; wheel names are read in place of its templates and styles."""

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
        registry = _Registry.model_validate(tomllib.loads(read_bounded(path).decode()))
    except ValidationError as error:
        raise ConfigurationError(
            tuple(f"{path.name}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError((f"{path.name}: {error}",)) from None
    sources, faults = [], []
    for number, entry in enumerate(registry.sources):
        try:
            sources.append(_source_of_registry(entry))
        except ValueError as error:
            faults.append(f"{path.name}: sources.{number}: {error}")
    if faults:
        raise ConfigurationError(tuple(faults))
    return tuple(sources)


def _source_of_registry(entry: _RegistryEntry) -> Source:
    project = project_name(entry.package)
    written = entry.wheel_name.partition("-{")[0]
    distribution = project_name(written) if written and "{" not in written else project
    if entry.type == "github":
        kind, url = SourceKind.GITHUB, listing_url("github", entry.repo)
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
        torch=read_range(entry.torch_compat) if entry.torch_compat else None,
    )
