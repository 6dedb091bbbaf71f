"""Installing into an environment that is no project's: what was chosen, or what a lock holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.pylock import Pylock
from packaging.utils import canonicalize_name

from wheelmill.client.install.distributions import versions_in
from wheelmill.client.install.installer import Installer
from wheelmill.client.install.wheel_cache import CachedWheel, WantedWheel, WheelCache
from wheelmill.client.lock.files import wheels_for
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName

_TOOLS = frozenset(map(canonicalize_name, ("pip", "setuptools", "wheel", "uv")))
"""What environments are made with, and no lock lists."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The result of an installation."""

    wheels: Sequence[CachedWheel]
    """Those that are in the environment now, checked against their hashes."""
    removed: Sequence[ProjectName] = ()


def interpreter_of(environment: TargetEnvironment) -> Path:
    """The interpreter to install for.

    Raises:
        UsageError: the environment is only described.
    """
    if environment.interpreter is None:
        raise UsageError(
            "no interpreter to install for", hint="make one with 'uv venv', or name one with --python-path"
        )
    return environment.interpreter


def install_chosen(
    resolution: Resolution, cache: WheelCache, installer: Installer, *, progress: Progress
) -> Installation:
    """Download, check and install chosen wheels; what they require comes from the configured index.

    Raises:
        IntegrityError: a wheel has other bytes than was promised; nothing is installed then.
        InstallError: the installer failed.
    """
    environment = resolution.environment
    wanted = [WantedWheel.of(choice.candidate) for choice in resolution.choices.values()]
    wheels = cache.fetch_all(wanted, progress)
    beside = [choice.name_with_extras for choice in resolution.choices.values() if choice.extras]
    if resolution.torch:
        beside.append(f"torch{resolution.torch.pin}")
    # The torch that is there already is the one that was asked about.
    place = None if environment.torch_release else resolution.torch_place
    installer.install(wheels, beside, alone=False, torch_place=place)
    return Installation(wheels=wheels)


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
