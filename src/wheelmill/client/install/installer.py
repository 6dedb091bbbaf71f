"""Installation of chosen wheels and their requirements into an interpreter's environment, by uv or else by pip.

The required driver is checked before the download, as conda does by its ``__cuda``.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from packaging.version import Version

from wheelmill.client.choose.fit import is_older, minimum_driver
from wheelmill.client.install.wheel_cache import CachedWheel, WheelCache
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import NoWheelError, UsageError
from wheelmill.installers.uv import find_uv, run_installer, torch_options
from wheelmill.names import CudaVersion, ProjectName
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName


class Installer(Protocol):
    """Installer for the environment of one interpreter."""

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels from disk in place of other versions, with further requirements such as ``torch==2.11.*``.

        If ``alone``, nothing else is installed; else the wheels' requirements come from the configured index.
        ``torch_place`` is the index for torch, as `torch_options` takes it.

        Raises:
            InstallError: the installation failed.
            IntegrityError: a wheel's bytes do not match its hash.
        """

    def install_file(self, path: Path) -> None:
        """Install a requirements file, and uninstall nothing."""

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Uninstall projects; those that are not installed are skipped."""


@dataclass(frozen=True, kw_only=True)
class Uv:
    """uv's commands for environments outside a project (https://docs.astral.sh/uv/pip/)."""

    program: Path
    python: Path
    progress: Progress
    offline: bool = False
    """Use only what uv's own cache has."""

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels; see `Installer`."""
        with _requirements_file(wheels, requirements) as file:
            self._pip("install", *_alone_options(alone=alone), *torch_options(torch_place), "--requirements", file)

    def install_file(self, path: Path) -> None:
        """Install a requirements file; see `Installer`. As with pip, the newest version of all indexes counts."""
        self._pip("install", "--index-strategy", "unsafe-best-match", "--requirements", path)

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Uninstall projects; see `Installer`."""
        if projects:
            self._pip("uninstall", *projects)

    def _pip(self, command: str, *arguments: str | Path) -> None:
        offline = ["--offline"] if self.offline else []
        run_installer([self.program, "pip", command, "--python", self.python, *offline, *arguments], self.progress)


@dataclass(frozen=True, kw_only=True)
class Pip:
    """The interpreter's own pip."""

    python: Path
    progress: Progress

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels; see `Installer`. pip cannot find the index of a torch for another CUDA."""
        if torch_place:
            raise UsageError(
                "index-not-readable",
                f"pip's package index does not have the torch that is wanted, which is at {torch_place}",
                hint="install uv, which finds the right index, or install that torch first",
            )
        with _requirements_file(wheels, requirements) as file:
            self._pip("install", *_alone_options(alone=alone), "--requirement", file)

    def install_file(self, path: Path) -> None:
        """Install a requirements file; see `Installer`."""
        self._pip("install", "--requirement", path)

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Uninstall projects; see `Installer`."""
        if projects:
            self._pip("uninstall", "--yes", *projects)

    def _pip(self, command: str, *arguments: str | Path) -> None:
        run_installer([self.python, "-m", "pip", command, "--no-input", *arguments], self.progress)


def installer_for(python: Path, progress: Progress, *, offline: bool = False) -> Installer:
    """Return uv if it is available, else the interpreter's pip, which has no offline mode."""
    if program := find_uv():
        return Uv(program=program, python=python, progress=progress, offline=offline)
    return Pip(python=python, progress=progress)


@contextmanager
def _requirements_file(wheels: Sequence[CachedWheel], requirements: Sequence[str]) -> Iterator[Path]:
    with temporary_folder() as folder:
        path = folder / "requirements.txt"
        path.write_text("".join(f"{line}\n" for line in (*(wheel.reference for wheel in wheels), *requirements)))
        yield path


def _alone_options(*, alone: bool) -> tuple[str, ...]:
    return ("--no-deps", "--no-index") if alone else ()


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Result of an installation."""

    wheels: Sequence[CachedWheel]
    """Wheels now in the environment, checked against their hashes."""
    removed: Sequence[ProjectName] = ()


def interpreter_of(environment: TargetEnvironment) -> Path:
    """The interpreter of an environment."""
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
    """Download, check and install chosen wheels; their requirements come from the configured index.

    Raises:
        IntegrityError: a wheel does not match its hash; nothing is installed then.
        InstallError: the installer failed.
    """
    environment = resolution.environment
    wheels = cache.fetch_all([choice.candidate for choice in resolution.choices.values()], progress)
    beside = [choice.name_with_extras for choice in resolution.choices.values() if choice.extras]
    if resolution.torch:
        beside.append(f"torch{resolution.torch.pin}")
    # An installed torch stays: the wheels were chosen for it.
    place = None if environment.torch_release else resolution.torch_place
    installer.install(wheels, beside, alone=False, torch_place=place)
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
    """Check that the machine's driver can run the wheels, before they are downloaded.

    Returns a warning if the machine has no driver, as the packages may run elsewhere; None if there is no problem.

    Raises:
        NoWheelError: the driver is too old.
    """
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
