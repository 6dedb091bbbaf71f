"""Installing chosen wheels, with what they require, into an interpreter's environment: by uv, or else by pip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wheelmill.client.install.wheel_cache import CachedWheel, WantedWheel, WheelCache
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.installers.uv import find_uv, run_installer, torch_options
from wheelmill.names import ProjectName
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress


class Installer(Protocol):
    """Changes what is installed for one interpreter."""

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels from disk.

        Args:
            wheels: the wheels, which replace other versions that are installed.
            requirements: what must hold beside them, such as ``torch==2.11.*``.
            alone: whether nothing else is installed; otherwise what they require comes from the configured index.
            torch_place: where torch is, as `torch_options` takes it.

        Raises:
            InstallError: it could not be done.
            IntegrityError: bytes differ from what was promised.
        """
        ...

    def install_file(self, path: Path) -> None:
        """Install what a requirements file says, and uninstall nothing else.

        Raises:
            InstallError: it could not be done.
            IntegrityError: bytes differ from what was promised.
        """
        ...

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Remove what is installed under these names; what is not there is passed over."""
        ...


@dataclass(frozen=True, kw_only=True)
class Uv:
    """uv, through its commands for environments that are no project (https://docs.astral.sh/uv/pip/)."""

    program: Path
    python: Path
    progress: Progress
    offline: bool = False
    """Whether to do with what uv's own cache has."""

    def install(
        self, wheels: Sequence[CachedWheel], requirements: Sequence[str], *, alone: bool, torch_place: str | None
    ) -> None:
        """Install wheels; see `Installer`."""
        with _requirements_file(wheels, requirements) as file:
            self._pip("install", *_alone_options(alone=alone), *torch_options(torch_place), "--requirements", file)

    def install_file(self, path: Path) -> None:
        """Install what a file says; see `Installer`. As with pip, the newest version of all indexes counts."""
        self._pip("install", "--index-strategy", "unsafe-best-match", "--requirements", path)

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Remove projects; see `Installer`."""
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
        """Install wheels; see `Installer`. pip does not know where torch for another CUDA is."""
        if torch_place:
            raise UsageError(
                "index-not-readable",
                f"pip's package index does not have the torch that is wanted, which is at {torch_place}",
                hint="install uv, which finds the right index, or install that torch first",
            )
        with _requirements_file(wheels, requirements) as file:
            self._pip("install", *_alone_options(alone=alone), "--requirement", file)

    def install_file(self, path: Path) -> None:
        """Install what a file says; see `Installer`."""
        self._pip("install", "--requirement", path)

    def uninstall(self, projects: Sequence[ProjectName]) -> None:
        """Remove projects; see `Installer`."""
        if projects:
            self._pip("uninstall", "--yes", *projects)

    def _pip(self, command: str, *arguments: str | Path) -> None:
        run_installer([self.python, "-m", "pip", command, "--no-input", *arguments], self.progress)


def installer_for(python: Path, progress: Progress, *, offline: bool = False) -> Installer:
    """Take uv if there is one, else the interpreter's pip, which cannot be told to stay offline."""
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
