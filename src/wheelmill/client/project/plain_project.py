"""A project that no tool locks: its dependencies stand in ``pyproject.toml``, and pip or uv install them (PEP 621)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from packaging.requirements import Requirement

from wheelmill.client.install.chosen import install_chosen, interpreter_of
from wheelmill.client.install.installer import installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.project import Edit, note_torch_index
from wheelmill.client.project.tool_project import ToolProject
from wheelmill.client.records import Resolution
from wheelmill.client.target.interpreter import find_interpreter
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class PlainProject(ToolProject):
    """A ``pyproject.toml`` beside an environment that uv did not make; see `Project`.

    What else is installed in that environment stays.
    """

    environment: Path | None

    kind: ClassVar[str] = "project without a tool of its own"

    def find_python(self) -> Path | None:
        """The interpreter of its environment."""
        return self.python or find_interpreter(self.root)

    def check_install(self) -> None:
        """Refuse to install where there is no environment."""
        if self.environment is None:
            raise UsageError(
                "no-environment",
                f"{self.root} has no environment to install into",
                hint="make one with 'python3 -m venv .venv', or install uv, which makes its own",
            )

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        return note_torch_index(super().add(asked, resolutions), self.path, resolutions)

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Install the wheels and what they require; see `Project`."""
        installer = installer_for(interpreter_of(resolutions[0].environment), progress, offline=cache.offline)
        install_chosen(resolutions[0], cache, installer, progress=progress)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Uninstall them; see `Project`."""
        if python := self.find_python():
            installer_for(python, progress).uninstall(projects)
