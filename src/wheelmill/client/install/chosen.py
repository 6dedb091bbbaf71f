"""Installing wheels that were chosen, with what they require."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wheelmill.client.install.installer import Installer
from wheelmill.client.install.wheel_cache import CachedWheel, WantedWheel, WheelCache
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


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
            "no-environment",
            "no Python environment to install into",
            hint="make one with 'uv venv', or name one with --python-path",
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
