"""A project whose environments Hatch makes: it installs what ``[project]`` says whenever one of them is used.

https://hatch.pypa.io/latest/config/environment/overview/
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from packaging.requirements import Requirement

from wheelmill.client.install.installer import installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.project import Edit
from wheelmill.client.project.tool_project import ToolProject
from wheelmill.client.records import Resolution
from wheelmill.client.target.interpreter import declared_python, python_in
from wheelmill.errors import UsageError
from wheelmill.installers.uv import installer_environment, run_installer
from wheelmill.names import ProjectName
from wheelmill.system import process
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class HatchProject(ToolProject):
    """A folder with ``tool.hatch.envs`` in its ``pyproject.toml``; see `Project`."""

    kind: ClassVar[str] = "hatch project"

    @property
    def program(self) -> str:
        """The tool.

        Raises:
            UsageError: it is not there.
        """
        if program := shutil.which("hatch"):
            return program
        raise UsageError(
            "tool-absent", f"{self.path} is a project of hatch, which is not on PATH", hint="install hatch first"
        )

    @cached_property
    def environment(self) -> Path | None:
        """Its default environment, which need not be there yet; None if hatch prints no path."""
        with installer_environment() as variables:
            argv = [self.program, "--no-color", "env", "find"]
            lines = process.run(argv, cwd=self.root, env=variables).splitlines()
        return Path(lines[-1]) if lines else None

    def find_python(self) -> Path | None:
        """The interpreter of the default environment, else what the project declares."""
        return self.python or self._own_python or declared_python(self.root)

    def check_install(self) -> None:
        """Refuse to install where hatch is missing, or was told to install no dependencies of the project."""
        _ = self.program
        default = self._read().table("tool", "hatch", "envs", "default") or {}
        if default.get("skip-install") or default.get("detached"):
            raise UsageError(
                "hatch-skips-install",
                f"{self.path}: hatch leaves the project's dependencies out of its default environment (skip-install)",
                hint="remove skip-install, or give --no-sync",
            )

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        for each in resolutions:
            if each.torch and each.torch_index and not each.environment.torch_release:
                raise UsageError(
                    "hatch-index-fixed",
                    f"{self.path}: hatch takes torch from the usual index only, and torch for CUDA "
                    f"{each.environment.cuda} is at {each.torch_index}",
                    hint="install that torch into hatch's environment first, or take another --cuda",
                )
        return super().add(asked, resolutions)

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:  # noqa: ARG002 - hatch downloads, and installs what the file says
        """Let hatch install what is missing; see `Project`."""
        run_installer([self.program, "--no-color", "run", "python", "-V"], progress, cwd=self.root)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Uninstall them, which hatch never does; see `Project`."""
        if python := self._own_python:
            installer_for(python, progress).uninstall(projects)

    @property
    def _own_python(self) -> Path | None:
        return python_in(self.environment) if self.environment else None
