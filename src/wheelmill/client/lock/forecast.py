"""What an environment would have after a change, found by metadata alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.pylock import Package as LockedPackage
from packaging.pylock import Pylock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.client.install.changes import InstalledPackage
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.environments import lock_environments
from wheelmill.client.records import Resolution
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


def forecast_packages(
    resolution: Resolution,
    present: Mapping[ProjectName, InstalledPackage],
    *,
    beside: Iterable[Requirement],
    cache: WheelCache,
    progress: Progress,
) -> Mapping[ProjectName, InstalledPackage]:
    """Find what is in an environment when chosen wheels are installed: versions that are there stay where they fit.

    Args:
        resolution: the choice for the environment.
        present: what it has now.
        beside: what else is to hold there, such as the other dependencies of a project.
        cache: gets the wheels whose requirements their source does not tell.
        progress: shows downloads, and the lines that uv prints.

    Raises:
        InstallError: the requirements do not fit together, or the package index does not answer.
        UsageError: there is no uv.
    """
    (lock,) = lock_environments([resolution], beside=beside, known=_wishes(present), cache=cache, progress=progress)
    found = dict(present)
    for package in lock.packages:
        project, version = canonicalize_name(package.name), str(package.version)
        if project in present and Version(version).local is None and _public(present[project]) == version:
            continue  # an index has no label for its torch, and what is there has
        size = next((wheel.size for wheel in package.wheels or ()), None)
        found[project] = InstalledPackage(version=version, size=size)
    return found


def _wishes(present: Mapping[ProjectName, InstalledPackage]) -> Pylock:
    """The installed packages, as a lock whose versions are kept."""
    packages = [
        LockedPackage(name=project, version=Version(version))
        for project, package in present.items()
        if (version := _public(package))
    ]
    return Pylock(lock_version=Version("1.0"), created_by="wheelmill", packages=packages)


def _public(package: InstalledPackage) -> str | None:
    """A version without its label; None for one that predates PEP 440."""
    try:
        return Version(package.version).public
    except InvalidVersion:
        return None
