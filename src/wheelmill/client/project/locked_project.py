"""Projects whose tool keeps a lock and chooses the environment itself: those of Poetry and of PDM."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.tool_project import ToolProject
from wheelmill.client.records import Resolution
from wheelmill.client.target.interpreter import declared_python
from wheelmill.errors import UsageError
from wheelmill.installers.uv import run_installer
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class LockedProject(ToolProject):
    """A ``pyproject.toml`` beside the lock of such a tool; see `Project`.

    Neither tool checks the hash in a URL, so the lock is compared with what was chosen before anything is installed.
    Neither uninstalls what nobody needs any longer.
    """

    tool: ClassVar[str]
    """The name of its program."""
    lock_arguments: ClassVar[tuple[str, ...]]
    """Lock, and keep what is locked where it fits."""
    install_arguments: ClassVar[tuple[str, ...]]
    """Install what is locked, and uninstall nothing."""

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return f"{self.tool} project"

    @property
    def program(self) -> str:
        """The tool.

        Raises:
            UsageError: it is not there.
        """
        if program := shutil.which(self.tool):
            return program
        raise UsageError(
            "tool-absent",
            f"{self.path} is a project of {self.tool}, which is not on PATH",
            hint=f"install {self.tool} first",
        )

    @property
    @abstractmethod
    def own_python(self) -> Path | None:
        """The interpreter of the tool's environment for the project; None while there is none."""

    @abstractmethod
    def make_environment(self, python: Path, progress: Progress) -> None:
        """Make the environment, where there is none, for an interpreter."""

    @property
    def environment(self) -> Path:
        """The folder of the tool's environment; until there is one, the project's ``.venv``.

        Poetry makes its own in its cache by default, so the journal of a first install does not protect that one.
        """
        return self.own_python.parent.parent if self.own_python else self.root / ".venv"

    def find_python(self) -> Path | None:
        """The interpreter of the tool's environment, else of what the project declares.

        Raises:
            UsageError: another one was named by hand: the tool would not use it.
        """
        own = self.own_python
        if self.python and own and self.python.absolute() != own.absolute():
            raise UsageError(
                "another-environment",
                f"{self.tool} installs into {own}, not into {self.python}",
                hint=f"leave out --python-path, or tell {self.tool} to use that interpreter",
            )
        return self.python or own or declared_python(self.root)

    def check_install(self) -> None:
        """Refuse to install where the tool is missing."""
        _ = self.program

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:  # noqa: ARG002 - the tool downloads
        """Lock it, compare what was locked with what was chosen, and install it; see `Project`."""
        interpreter = resolutions[0].environment.interpreter
        if self.own_python is None and interpreter:
            self.make_environment(interpreter, progress)
        before = self._locked
        self._run(progress, *self.lock_arguments)
        self._check_lock(resolutions)
        self._run(progress, *self.install_arguments)
        self._uninstall_unlocked(before, self.own_python, progress)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:  # noqa: ARG002 - the lock knows
        """Lock it, and sync its environment; see `Project`."""
        before = self._locked
        self._run(progress, *self.lock_arguments)
        self._run(progress, *self.install_arguments)
        self._uninstall_unlocked(before, self.own_python, progress)

    def _run(self, progress: Progress, *arguments: str | Path) -> None:
        run_installer([self.program, *arguments], progress, cwd=self.root)
