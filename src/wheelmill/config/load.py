"""A ``config/`` folder, read whole or with every fault named, and its JSON schemas and facts for the client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from packaging.specifiers import SpecifierSet
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, NoDefault
from pydantic_core.core_schema import WithDefaultSchema

from wheelmill.config.fields import ConfigFile, KeyPath, describe_keys
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Images, Listing, Lock, Removed, Yanked
from wheelmill.config.model.package import Package, Packages
from wheelmill.config.model.package_fields import ISOLATED
from wheelmill.config.model.package_parts import DEFAULT_ARCHITECTURES
from wheelmill.config.pyproject import PYPROJECT, Pyproject
from wheelmill.config.yaml import faults_at, read_file
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.names import ProjectName, ProjectVersion
from wheelmill.system import own_installation
from wheelmill.system.git import pushed_tag, tagged_version, versions_of_tag
from wheelmill.system.records import plain_of

PACKAGES: Final = "packages.yml"
COMPATIBILITY: Final = "compatibility.yml"
OWN: Final = "wheelmill.yml"
"""Stands in the place of ``packages.yml`` in the repository of a package that is built there."""
IMAGES: Final = "images.yml"
YANKED: Final = "yanked.yml"
REMOVED: Final = "removed.yml"
SOURCES: Final = "sources.yml"

Record = TypeVar("Record")
File = TypeVar("File", bound=ConfigFile)


def load_config(place: Path, *, check_ranges: bool = False) -> Config:
    """Read a configuration: a folder, or one file that replaces ``packages.yml``.

    Only that file is required; ``compatibility.yml`` and ``images.yml`` ship with wheelmill. `check_ranges` makes an
    empty range a fault: not in commands such as the one that adds a release for it. Raises ConfigurationError with
    every fault of every file.
    """
    file, facts = (place, own_installation.CONFIG) if is_file_of_packages(place) else (place / PACKAGES, place)
    faults: list[str] = []
    packages = _attempt(lambda: read_file(file, Packages), faults)
    compatibility = _attempt(lambda: load_compatibility(facts), faults)
    lock = _attempt(lambda: _read_if_there(lock_path(file), Lock(sdists={})), faults)
    images = _attempt(lambda: load_images(facts), faults)
    listing = _attempt(lambda: load_listing(file.parent), faults)
    versions = _attempt(lambda: _versions_of_folders(packages, file, own=file == place), faults) if packages else None
    if packages and compatibility:
        undated = packages.undated_rules(max(compatibility.torch)) if compatibility.torch else ()
        empty = packages.empty_ranges(compatibility) if check_ranges else ()
        faults.extend(faults_at(file, [*undated, *empty]))
    if faults or versions is None or not (packages and compatibility and lock and images and listing):
        raise ConfigurationError(tuple(faults))
    return Config(
        file=file,
        packages={name: _package(name, packages, lock, file.parent, versions) for name in packages.packages},
        compatibility=compatibility,
        lock=lock,
        images=images,
        listing=listing,
    )


def is_file_of_packages(place: Path) -> bool:
    """True if a configuration is one file; else it is a folder, even if it does not exist."""
    return place.suffix in {".yml", ".yaml"} and not place.is_dir()


def lock_path(packages: Path) -> Path:
    """Return the path of the lock beside a packages file: ``packages.lock`` or ``wheelmill.lock``."""
    return packages.with_suffix(".lock")


def load_compatibility(directory: Path) -> Compatibility:
    """Read the ``compatibility.yml`` of a configuration folder, else the one shipped with wheelmill."""
    return read_file(_own_or_shipped(directory, COMPATIBILITY), Compatibility)


def load_images(directory: Path) -> Images:
    """Read the ``images.yml`` of a configuration folder, else the one shipped with wheelmill."""
    return read_file(_own_or_shipped(directory, IMAGES), Images)


def load_listing(directory: Path) -> Listing:
    """Read the ``yanked.yml`` and ``removed.yml`` of a configuration folder."""
    faults: list[str] = []
    yanked = _attempt(lambda: _read_if_there(directory / YANKED, Yanked()), faults)
    removed = _attempt(lambda: _read_if_there(directory / REMOVED, Removed()), faults)
    if yanked is None or removed is None:
        raise ConfigurationError(tuple(faults))
    return Listing(yanked=yanked, removed=removed)


def _attempt(read: Callable[[], Record], faults: list[str]) -> Record | None:
    """Read a file and add its faults to those of other files; None if it has any."""
    try:
        return read()
    except ConfigurationError as error:
        faults.extend(error.faults)
        return None


def _own_or_shipped(directory: Path, name: str) -> Path:
    own = directory / name
    return own if own.exists() else own_installation.CONFIG / name


def _read_if_there(path: Path, nothing: File) -> File:
    return read_file(path, type(nothing)) if path.exists() else nothing


def _versions_of_folders(packages: Packages, file: Path, *, own: bool) -> Mapping[ProjectName, ProjectVersion]:
    """Return the versions that folders declare or, in a package's own repository, tags, which must not differ."""
    versions: dict[ProjectName, ProjectVersion] = {}
    planned: dict[ProjectName, tuple[ProjectVersion, ...]] = {}
    faults: list[tuple[KeyPath, str]] = []
    for name, entry in packages.packages.items():
        if not isinstance(entry.source, Path):
            continue
        if entry.versions is None:
            try:
                pyproject = Pyproject.read(entry.source)
                is_tagged = own and pyproject.is_versioned_by_tags
                version = tagged_version(entry.source) if is_tagged else pyproject.version
            except UsageError as error:
                faults.append((("packages", name, "source"), str(error)))
                continue
            if version is None:
                message = f"is required: neither its {PYPROJECT} nor a tag says a version"
                faults.append((("packages", name, "versions"), message))
                continue
            versions[name] = version
        planned[name] = entry.versions if isinstance(entry.versions, tuple) else (versions[name],)
    tagged = versions_of_tag(pushed_tag()) if own else ()
    if tagged and planned and not any(version in each for each in planned.values() for version in tagged):
        for name, others in planned.items():
            message = f"is {', '.join(map(str, others))}, and the tag {pushed_tag()} is of {tagged[-1]}"
            faults.append((("packages", name, "versions"), message))
    if faults:
        raise ConfigurationError(faults_at(file, faults))
    return versions


def _package(
    name: ProjectName, packages: Packages, lock: Lock, directory: Path, versions: Mapping[ProjectName, ProjectVersion]
) -> Package:
    entry = packages.packages[name]
    keys = dict(vars(entry)) | {
        "window": packages.window_of(entry),
        "build_args": entry.build_args or packages.defaults.build_args or ISOLATED,
        "architectures": entry.architectures or packages.defaults.architectures or DEFAULT_ARCHITECTURES,
    }
    if entry.versions is None:
        keys |= {"versions": (versions[name],)}
    elif isinstance(entry.versions, SpecifierSet):
        keys |= {"versions": lock.versions_in(name, entry.versions), "version_range": entry.versions}
    return Package(name=name, directory=directory, **keys)


FACTS: Final = "compatibility.json"

_MODELS: Final[Mapping[str, type]] = {
    "packages.schema.json": Packages,
    "compatibility.schema.json": Compatibility,
    "images.schema.json": Images,
    "yanked.schema.json": Yanked,
    "removed.schema.json": Removed,
}


class _AsWritten(GenerateJsonSchema):
    """JSON schema of the text that users write; pydantic would describe the parsed values."""

    def get_default_value(self, schema: WithDefaultSchema) -> Any:  # noqa: ANN401 - JSON
        """Return the default as a file would write it; none for a key that a file would omit."""
        match schema.get("default"):
            case None:
                return NoDefault
            case tuple(items) | frozenset(items):
                return [str(item) for item in items]
            case value:
                return value

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Return False: a title would repeat the key."""
        return False


def generated_files(directory: Path) -> Mapping[str, bytes]:
    """Return the content of each file by its name; facts only where there are some: the client reads shipped ones."""
    describe_keys()
    schemas = {}
    for name, model in _MODELS.items():
        schema = TypeAdapter(model).json_schema(schema_generator=_AsWritten)
        content = {"$schema": GenerateJsonSchema.schema_dialect, **schema}
        schemas[name] = json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
    return schemas | ({FACTS: facts_json(directory)} if (directory / FACTS).exists() else {})


def facts_json(directory: Path) -> bytes:
    """Return the facts of a configuration folder as the client reads them."""
    return json.dumps(plain_of(load_compatibility(directory))).encode() + b"\n"
