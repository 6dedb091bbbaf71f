"""Installing what a lock holds into an environment."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.pylock import Pylock
from packaging.utils import canonicalize_name

from wheelmill.client.install.distributions import InstalledPackage, versions_in
from wheelmill.client.install.installer import Installation, Installer, interpreter_of
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.files import wheels_for
from wheelmill.client.records import TargetEnvironment
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName

_TOOLS = frozenset(map(canonicalize_name, ("pip", "setuptools", "wheel", "uv")))
"""What environments are made with, and no lock lists."""


def packages_of_lock(
    lock: Pylock, environment: TargetEnvironment, present: Mapping[ProjectName, InstalledPackage], *, exactly: bool
) -> Mapping[ProjectName, InstalledPackage]:
    """What an environment has when a lock is installed into it.

    Args:
        lock: the lock to install from.
        environment: the environment, one of those in the lock.
        present: what it has now.
        exactly: whether what the lock does not hold is removed.

    Raises:
        NoWheelError: the lock is not for this environment.
    """
    kept = {project: package for project, package in present.items() if not exactly or project in _TOOLS}
    names = [(WheelName.parse(wheel.filename), wheel.size) for wheel in wheels_for(lock, environment)]
    return kept | {name.project: InstalledPackage(version=str(name.version), size=size) for name, size in names}


def install_locked(
    lock: Pylock,
    environment: TargetEnvironment,
    cache: WheelCache,
    installer: Installer,
    *,
    exactly: bool,
    progress: Progress,
) -> Installation:
    """Download, check and install what a lock holds, and nothing else.

    Args:
        lock: the lock to install from.
        environment: the environment to change, one of those in the lock.
        cache: the wheels on disk, where new ones are put, too.
        installer: uv or pip, for the interpreter of the environment.
        exactly: whether what the lock does not hold is removed.
        progress: shows a bar for each download.

    Raises:
        NoWheelError: the lock is not for this environment.
        IntegrityError: a wheel has other bytes than the lock says; nothing is changed then.
        InstallError: the installer failed.
    """
    wheels = cache.fetch_all(wheels_for(lock, environment), progress)
    present = versions_in(interpreter_of(environment))
    new = [wheel for wheel in wheels if present.get(wheel.project) != str(WheelName.parse(wheel.path.name).version)]
    surplus = sorted(set(present) - {wheel.project for wheel in wheels} - _TOOLS) if exactly else []
    installer.uninstall(surplus)
    if new:
        installer.install(new, [], alone=True, torch_place=None)
    return Installation(wheels=wheels, removed=surplus)
