"""Reading a ``config/`` folder: all of it is right, or every fault is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from packaging.specifiers import SpecifierSet

from wheelmill.config.annotations import ConfigFile
from wheelmill.config.model import Compatibility, Config, Images, Listing, Lock, Package, Removed, Yanked
from wheelmill.config.model.packages import Packages
from wheelmill.config.read import faults_at, read_file
from wheelmill.errors import ConfigurationError
from wheelmill.names import ProjectName
from wheelmill.system import resources

PACKAGES: Final = "packages.yml"
COMPATIBILITY: Final = "compatibility.yml"
LOCK: Final = "packages.lock"
IMAGES: Final = "images.yml"
YANKED: Final = "yanked.yml"
REMOVED: Final = "removed.yml"

Record = TypeVar("Record")
File = TypeVar("File", bound=ConfigFile)


def load_config(directory: Path) -> Config:
    """Read a configuration folder.

    Only ``packages.yml`` must be there: ``compatibility.yml`` and ``images.yml`` ship with wheelmill, and a missing
    ``packages.lock`` locks nothing; nor do a missing ``yanked.yml`` and ``removed.yml`` yank or remove anything.

    Raises:
        ConfigurationError: with every fault of every file.
    """
    faults: list[str] = []
    packages = _attempt(lambda: read_file(directory / PACKAGES, Packages), faults)
    compatibility = _attempt(lambda: load_compatibility(directory), faults)
    lock = _attempt(lambda: _read_if_there(directory / LOCK, Lock(sdists={})), faults)
    images = _attempt(lambda: load_images(directory), faults)
    listing = _attempt(lambda: load_listing(directory), faults)
    if packages and compatibility and compatibility.torch:
        faults.extend(faults_at(directory / PACKAGES, list(packages.undated_rules(max(compatibility.torch)))))
    if faults or packages is None or compatibility is None or lock is None or images is None or listing is None:
        raise ConfigurationError(tuple(faults))
    return Config(
        directory=directory,
        packages={name: _package(name, packages, lock, directory) for name in packages.packages},
        compatibility=compatibility,
        lock=lock,
        images=images,
        listing=listing,
    )


def load_compatibility(directory: Path) -> Compatibility:
    """Read the ``compatibility.yml`` of a configuration folder; the one that ships with wheelmill where there is none.

    Raises:
        ConfigurationError: with every fault of the file.
    """
    return read_file(_own_or_shipped(directory, COMPATIBILITY), Compatibility)


def load_images(directory: Path) -> Images:
    """Read the ``images.yml`` of a configuration folder; the one that ships with wheelmill where there is none.

    Raises:
        ConfigurationError: with every fault of the file.
    """
    return read_file(_own_or_shipped(directory, IMAGES), Images)


def load_listing(directory: Path) -> Listing:
    """Read the ``yanked.yml`` and ``removed.yml`` of a configuration folder.

    Raises:
        ConfigurationError: with every fault of both.
    """
    faults: list[str] = []
    yanked = _attempt(lambda: _read_if_there(directory / YANKED, Yanked()), faults)
    removed = _attempt(lambda: _read_if_there(directory / REMOVED, Removed()), faults)
    if yanked is None or removed is None:
        raise ConfigurationError(tuple(faults))
    return Listing(yanked=yanked, removed=removed)


def _attempt(read: Callable[[], Record], faults: list[str]) -> Record | None:
    """What is read; None where it has faults, which join those of other files."""
    try:
        return read()
    except ConfigurationError as error:
        faults.extend(error.faults)
        return None


def _own_or_shipped(directory: Path, name: str) -> Path:
    own = directory / name
    return own if own.exists() else resources.CONFIG / name


def _read_if_there(path: Path, nothing: File) -> File:
    return read_file(path, type(nothing)) if path.exists() else nothing


def _package(name: ProjectName, packages: Packages, lock: Lock, directory: Path) -> Package:
    entry = packages.packages[name]
    keys = dict(vars(entry)) | {"window": packages.window_of(entry)}
    if isinstance(entry.versions, SpecifierSet):
        keys |= {"versions": lock.versions_in(name, entry.versions), "version_range": entry.versions}
    return Package(name=name, directory=directory, **keys)
