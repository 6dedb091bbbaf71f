"""Projects managed by uv, alone or as workspace members: uv locks them and syncs their environments.

https://docs.astral.sh/uv/concepts/projects/sync/
https://docs.astral.sh/uv/concepts/projects/workspaces/
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.project import Edit
from wheelmill.client.project.pyproject import TomlTables, UvPyproject
from wheelmill.client.project.tool_project import ToolProject
from wheelmill.client.records import Resolution
from wheelmill.client.target.detect import declared_python, python_in
from wheelmill.errors import UsageError
from wheelmill.installers.uv import run_installer
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class UvProject(ToolProject):
    """Folder with a ``pyproject.toml`` that uv manages; see `Project`."""

    uv: Path
    workspace: Path | None = None
    """The folder of the workspace that it is a member of."""

    pyproject = UvPyproject
    lock_name = "uv.lock"

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return "uv workspace member" if self.workspace else "uv project"

    @property
    def root(self) -> Path:
        """The folder of its lock: the workspace's, else its own."""
        return self.workspace or self.path.parent

    @property
    def environment(self) -> Path:
        """The folder in ``UV_PROJECT_ENVIRONMENT``, else the ``.venv`` of the root."""
        return self.root / (os.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv")

    def find_python(self) -> Path | None:
        """The interpreter that uv takes."""
        return self.python or declared_python(self.path.parent)

    def check_install(self) -> None:
        """Accept every project: uv creates the environment."""

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        tables = TomlTables.read(self.path)
        if tables.table("tool", "uv", "workspace") is not None and tables.table("project") is None:
            raise UsageError(
                "workspace-without-project",
                f"{self.path} is a workspace without a project of its own",
                hint="name one of its members with --project",
            )
        return super().add(asked, resolutions)

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Lock it, check the lock against the chosen wheels, and install it; see `Project`."""
        options = [*self._python_option(resolutions[0]), *(["--offline"] if cache.offline else [])]
        chosen = {choice.candidate.project for each in resolutions for choice in each.choices.values()}
        # uv may have cached a page of their index from before they were published.
        anew = [] if cache.offline else [word for each in sorted(chosen) for word in ("--refresh-package", each)]
        before = self._locked
        self._run(progress, "lock", *options, *anew)
        self._check_lock(resolutions)
        self._run(progress, "sync", "--inexact", *options)
        self._uninstall_unlocked(before, python_in(self.environment), progress)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:  # noqa: ARG002 - the lock knows
        """Lock it and sync its environment; see `Project`."""
        before = self._locked
        self._run(progress, "lock")
        self._run(progress, "sync", "--inexact")
        self._uninstall_unlocked(before, python_in(self.environment), progress)

    def _run(self, progress: Progress, command: str, *options: str) -> None:
        run_installer([self.uv, command, "--directory", self.path.parent, *options], progress)

    def _python_option(self, resolution: Resolution) -> list[str]:
        """The option for uv's Python; empty for that of the project's own environment."""
        interpreter = resolution.environment.interpreter
        if interpreter is None:
            return ["--python", str(resolution.environment.python)]
        return [] if interpreter.is_relative_to(self.environment) else ["--python", str(interpreter)]


def is_made_by_uv(environment: Path) -> bool:
    """True if uv created an environment: it writes its version into ``pyvenv.cfg``."""
    configuration = environment / "pyvenv.cfg"
    return configuration.exists() and "\nuv = " in configuration.read_text(encoding="utf-8", errors="replace")


def find_workspace(folder: Path) -> Path | None:
    """The folder of the uv workspace with a project's folder as a member; None if there is none."""
    for above in folder.parents:
        path = above / "pyproject.toml"
        workspace = TomlTables.read(path).table("tool", "uv", "workspace") if path.exists() else None
        if workspace is not None:
            members = _folders(path, workspace, "members") - _folders(path, workspace, "exclude")
            return above if folder in members else None
    return None


def _folders(path: Path, workspace: Mapping[str, Any], key: str) -> set[Path]:
    """The folders that match patterns in a workspace's table."""
    try:
        # str.strip rejects non-strings, and returns plain strings for glob to intern, unlike tomlkit's.
        patterns = map(str.strip, workspace.get(key, ()))
        return {each for pattern in patterns for each in path.parent.glob(pattern)}
    except (TypeError, ValueError, NotImplementedError) as error:
        raise UsageError(
            "workspace-invalid", f"{path}: tool.uv.workspace.{key}: expected patterns of folders: {error}"
        ) from None
