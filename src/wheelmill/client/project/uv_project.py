"""A project that uv manages: its environment is brought to what its ``pyproject.toml`` says.

https://docs.astral.sh/uv/concepts/projects/sync/
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from wheelmill.client.install.chosen import install_chosen, interpreter_of
from wheelmill.client.install.installer import installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.change import add_wheels, remove_packages
from wheelmill.client.project.project import Edit
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.records import Candidate, Resolution
from wheelmill.client.target.interpreter import find_interpreter
from wheelmill.errors import IntegrityError
from wheelmill.installers.uv import run_installer
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class UvProject:
    """A folder with a ``pyproject.toml``; see `Project`."""

    path: Path
    uv: Path | None
    """None where uv is not there: then pip installs, which locks nothing."""
    python: Path | None
    """The interpreter that was named by hand."""

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "uv project"

    @property
    def root(self) -> Path:
        """The folder of its ``pyproject.toml``."""
        return self.path.parent

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own file and uv's lock."""
        return self.path, self.root / "uv.lock"

    @property
    def environment(self) -> Path:
        """Its ``.venv``."""
        return self.root / ".venv"

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What ``tool.wheelmill.packages`` says."""
        return Pyproject.read(self.path).asked

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What ``project.dependencies`` says."""
        return Pyproject.read(self.path).requirements

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        return add_wheels(self.path, asked, resolutions)

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Take dependencies out of its file; see `Project`."""
        return remove_packages(self.path, projects)

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Lock it, compare what was locked with what was chosen, and install it; see `Project`."""
        if self.uv is None:
            installer = installer_for(interpreter_of(resolutions[0].environment), progress, offline=cache.offline)
            install_chosen(resolutions[0], cache, installer, progress=progress)
            return
        chosen = [choice.candidate for each in resolutions for choice in each.choices.values()]
        options = ["--directory", str(self.root)]
        if python := self._python_for(resolutions[0]):
            options += ["--python", python]
        if cache.offline:
            options.append("--offline")
        self._sync(self.uv, options, chosen, progress, offline=cache.offline)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Lock it and bring its environment to that; see `Project`."""
        if self.uv:
            self._sync(self.uv, ["--directory", str(self.root)], [], progress)
        elif interpreter := self.python or find_interpreter(self.root):
            installer_for(interpreter, progress).uninstall(projects)

    def _sync(
        self, uv: Path, options: list[str], chosen: Sequence[Candidate], progress: Progress, *, offline: bool = False
    ) -> None:
        # uv may have read a page of their index before they were on it.
        anew = [] if offline else [word for each in chosen for word in ("--refresh-package", each.project)]
        run_installer([uv, "lock", *options, *anew], progress)
        check_lock(self.root / "uv.lock", chosen)
        run_installer([uv, "sync", *options], progress)

    def _python_for(self, resolution: Resolution) -> str | None:
        """Which Python uv shall take; None for the one of the project's own environment."""
        environment = resolution.environment
        interpreter = environment.interpreter
        if interpreter is None:
            return str(environment.python)
        return None if interpreter.is_relative_to(self.environment) else str(interpreter)


def check_lock(path: Path, chosen: Iterable[Candidate]) -> None:
    """Compare the hashes in a ``uv.lock`` with those of the wheels that were chosen.

    Raises:
        IntegrityError: one is missing, or has another hash.
    """
    packages = tomllib.loads(path.read_text(encoding="utf-8")).get("package", [])
    for candidate in chosen:
        hashes = {
            str(wheel.get("hash", ""))
            for package in packages
            if package.get("name") == candidate.project
            for wheel in package.get("wheels", ())
        }
        if candidate.sha256 and f"sha256:{candidate.sha256}" not in hashes:
            raise IntegrityError(
                f"{path.name} has no {candidate.filename} with sha256 {candidate.sha256}: "
                f"it has {', '.join(sorted(hashes)) or 'no wheel of that name'}"
            )
