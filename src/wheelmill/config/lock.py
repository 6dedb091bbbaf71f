"""Writing ``packages.lock``: the hash of every source distribution that builds may use."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml
from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import Version

from wheelmill.config.load import LOCK
from wheelmill.config.records import Config, Lock, LockedSdist, Package
from wheelmill.errors import UsageError
from wheelmill.files import write_bytes
from wheelmill.names import ProjectVersion, Sha256
from wheelmill.package_index import sdists_of

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

_HEADER: Final = "# Written by 'wheelmill config lock'.\n"


def lock_packages(config: Config, projects: Collection[str]) -> Lock:
    """Look up what ``packages.yml`` lists and the lock lacks. What is locked stays as it is.

    Args:
        config: the packages, and what is locked already.
        projects: the ones to look at; none means all.

    Raises:
        UsageError: a project is not in ``packages.yml``, or the index lacks a version of it.
    """
    if unknown := sorted(set(projects) - set(config.packages)):
        raise UsageError(f"{', '.join(unknown)}: not in packages.yml")
    from_index = [package for package in config.packages.values() if package.source is None]
    sdists = {
        (package.name, version): locked
        for package in from_index
        for version in package.versions
        if (locked := config.lock.sdists.get((package.name, version)))
    }
    for package in from_index:
        missing = [version for version in package.versions if (package.name, version) not in sdists]
        if missing and (not projects or package.name in projects):
            sdists.update({(package.name, version): sdist for version, sdist in _looked_up(package, missing)})
    return Lock(sdists=sdists)


def _looked_up(package: Package, versions: list[ProjectVersion]) -> list[tuple[ProjectVersion, LockedSdist]]:
    offered = {
        parse_sdist_filename(file.filename)[1]: LockedSdist(
            filename=file.filename, sha256=Sha256(file.digests["sha256"])
        )
        for file in sdists_of(package.name)
        if _is_usable(file)
    }
    if absent := [version for version in versions if Version(version) not in offered]:
        raise UsageError(f"the package index has no source distribution of {package.name} {', '.join(absent)}")
    return [(version, offered[Version(version)]) for version in versions]


def _is_usable(file: DistributionPackage) -> bool:
    """Whether builds can unpack it, and its hash and version are known: names are older than the rules for them."""
    try:
        parse_sdist_filename(file.filename)
    except InvalidSdistFilename:
        return False
    return file.filename.endswith(".tar.gz") and "sha256" in file.digests


def write_lock(lock: Lock, directory: Path) -> None:
    """Write the lock, sorted: equal locks give equal bytes."""
    sdists: dict[str, dict[str, dict[str, str]]] = {}
    for (name, version), sdist in sorted(lock.sdists.items()):
        sdists.setdefault(name, {})[version] = {"sdist": sdist.filename, "sha256": sdist.sha256}
    text = yaml.safe_dump({"sdists": sdists}, sort_keys=False, width=200)
    write_bytes(directory / LOCK, (_HEADER + text).encode())
