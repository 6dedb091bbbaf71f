"""Installation of wheels and their requirements by uv, else by pip; first the driver is checked, as conda does.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from wheelmill.client.choose.fit import is_older, minimum_driver
from wheelmill.client.install.wheel_cache import CachedWheel, WheelCache
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import NoWheelError, UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.installers.uv import find_uv, run_installer, torch_options
from wheelmill.names import CudaVersion, ProjectName
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName


@dataclass(frozen=True, kw_only=True)
class Installer(ABC):
    """Installer for the environment of one interpreter."""

    python: Path
    progress: Progress

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels from disk in place of other versions, with further requirements such as ``torch==2.11.*``.

        If ``alone``, nothing else is installed; else the wheels' requirements come from the configured index.
        ``torch_place`` is the index for torch, as `torch_options` takes it.
        """
        options = ["--no-deps", "--no-index"] if alone else []
        options += self._torch_options(torch_place)
        with temporary_folder() as folder:
            path = folder / "requirements.txt"
            lines = map(requirements_line, (*(wheel.reference for wheel in wheels), *requirements))
            path.write_text("".join(f"{line}\n" for line in lines))
            self._pip("install", *options, "-r", path)

    def install_file(self, path: Path) -> None:
        """Install a requirements file, and uninstall nothing."""
        self._pip("install", "-r", path)

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Uninstall projects; those that are not installed are skipped."""
        if projects:
            self._pip("uninstall", *projects)

    @abstractmethod
    def _torch_options(self, place: str | None) -> list[str]:
        """The options for the index of torch."""

    @abstractmethod
    def _pip(self, command: str, *arguments: str | Path) -> None:
        """Run one of the installer's commands."""


@dataclass(frozen=True, kw_only=True)
class Uv(Installer):
    """uv's commands for environments outside a project (https://docs.astral.sh/uv/pip/)."""

    program: Path
    offline: bool = False
    """Use only what uv's own cache has."""

    def install_file(self, path: Path) -> None:
        """Install a requirements file; as with pip, the newest version of all indexes counts."""
        self._pip("install", "--index-strategy", "unsafe-best-match", "-r", path)

    def _torch_options(self, place: str | None) -> list[str]:
        return torch_options(place)

    def _pip(self, command: str, *arguments: str | Path) -> None:
        offline = ["--offline"] if self.offline else []
        run_installer([self.program, "pip", command, "--python", self.python, *offline, *arguments], self.progress)


@dataclass(frozen=True, kw_only=True)
class Pip(Installer):
    """The interpreter's own pip."""

    def _torch_options(self, place: str | None) -> list[str]:
        """Refuse a torch for another CUDA, whose index pip cannot find."""
        if place is None:
            return []
        raise UsageError(
            "index-not-readable",
            f"pip's package index does not have the torch that is wanted, which is at {place}",
            hint="install uv, which finds the right index, or install that torch first",
        )

    def _pip(self, command: str, *arguments: str | Path) -> None:
        options = ["--no-input", "--yes"] if command == "uninstall" else ["--no-input"]
        run_installer([self.python, "-m", "pip", command, *options, *arguments], self.progress)


def installer_for(python: Path, progress: Progress, *, offline: bool = False) -> Installer:
    """Return uv if it is available, else the interpreter's pip, which has no offline mode."""
    if program := find_uv():
        return Uv(program=program, python=python, progress=progress, offline=offline)
    return Pip(python=python, progress=progress)


def installer_to(environment: TargetEnvironment, cache: WheelCache) -> Installer:
    """Return the installer of an environment, which shows its progress where downloads into the cache do."""
    return installer_for(interpreter_of(environment), cache.progress, offline=cache.offline)


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Result of an installation."""

    wheels: Sequence[CachedWheel]
    """Wheels now in the environment, checked against their hashes."""
    removed: Sequence[ProjectName] = ()


def interpreter_of(environment: TargetEnvironment) -> Path:
    """The interpreter of an environment."""
    if environment.interpreter is None:
        raise no_environment()
    return environment.interpreter


def no_environment() -> UsageError:
    """Make the error for a machine without an environment to install into."""
    return UsageError(
        "no-environment",
        "no Python environment to install into",
        hint="make one with 'uv venv', or name one with --python-path",
    )


def install_chosen(resolution: Resolution, cache: WheelCache) -> Installation:
    """Download, check and install chosen wheels, and their requirements from the index; nothing if a hash differs."""
    environment = resolution.environment
    wheels = cache.fetch_all([choice.candidate for choice in resolution.choices.values()])
    beside = [choice.name_with_extras for choice in resolution.choices.values() if choice.extras]
    if resolution.torch:
        beside.append(f"torch{resolution.torch.pin}")
    # An installed torch stays: the wheels were chosen for it.
    place = None if environment.torch_release else resolution.torch_place
    installer_to(environment, cache).install(wheels, beside, alone=False, torch_place=place)
    return Installation(wheels=wheels)


_RUNTIME: Final = "nvidia-cuda-runtime"
"""NVIDIA's wheels of the CUDA runtime, which torch requires: the version is that of CUDA. Of CUDA 12 and older it has a
suffix, ``-cu12``."""


@dataclass(frozen=True, kw_only=True)
class DriverNeed:
    """Driver requirement of one wheel."""

    wheel: str
    """``flash-attn 2.8.3+cu130torch2.11``."""
    driver: str
    """The oldest: ``580.65.06``."""


def needs_of_wheels(wheels: Iterable[WheelName], facts: Compatibility) -> Iterator[DriverNeed]:
    """Yield the driver requirements of wheels whose names state their CUDA."""
    for name in wheels:
        cuda = name.built_for.cuda or _cuda_of_runtime(name)
        if cuda and (driver := minimum_driver(cuda, facts)):
            yield DriverNeed(wheel=f"{name.project} {name.version}", driver=driver)


def needs_of_choices(resolution: Resolution, facts: Compatibility) -> Iterator[DriverNeed]:
    """Yield the driver requirements of chosen wheels and of their torch."""
    for choice in resolution.choices.values():
        candidate, named = choice.candidate, f"{choice.project} {choice.candidate.version}"
        if candidate.inside and candidate.inside.driver:
            yield DriverNeed(wheel=named, driver=candidate.inside.driver)
        elif candidate.label.cuda and (driver := minimum_driver(candidate.label.cuda, facts)):
            yield DriverNeed(wheel=named, driver=driver)
    cuda = resolution.environment.cuda
    if resolution.torch and cuda and (driver := minimum_driver(cuda, facts)):
        yield DriverNeed(wheel=f"torch {resolution.torch} for CUDA {cuda}", driver=driver)


def _cuda_of_runtime(name: WheelName) -> CudaVersion | None:
    base, _, suffix = name.project.partition("-cu1")
    if base != _RUNTIME or (suffix and not suffix.isdecimal()):
        return None
    return CudaVersion(name.version.major, name.version.minor)


def check_driver(needs: Iterable[DriverNeed], environment: TargetEnvironment) -> str | None:
    """Refuse wheels that need a newer driver, before the download; return a warning if there is no driver."""
    if not environment.platform.is_linux:
        return None  # Windows has other minimum versions
    newest = max(needs, key=lambda need: Version(need.driver), default=None)
    if newest is None:
        return None
    wants = f"{newest.wheel} needs NVIDIA driver {newest.driver} or newer"
    if environment.driver is None:
        return f"{wants}, and no driver was found here"
    if not is_older(environment, newest.driver):
        return None
    origin = environment.origins.get("driver")
    raise NoWheelError(
        "driver-too-old",
        f"{wants}, and that of this machine is {environment.driver}{f' ({origin})' if origin else ''}; "
        "nothing was downloaded",
        hint=f"update the driver, or take wheels for an older CUDA; --driver {newest.driver} installs them in any case",
    )
