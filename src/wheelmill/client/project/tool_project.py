"""What projects with a ``pyproject.toml`` and a tool of their own have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from packaging.requirements import Requirement

from wheelmill.client.install.installer import installer_for
from wheelmill.client.project.change import add_wheels, remove_packages
from wheelmill.client.project.project import Edit
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.project.tool_lock import check_lock, read_tool_lock
from wheelmill.client.records import Resolution
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class ToolProject:
    """A ``pyproject.toml`` that a tool locks and installs; see `Project`."""

    path: Path
    python: Path | None
    """The interpreter that was named by hand."""

    pyproject: ClassVar[type[Pyproject]] = Pyproject
    """Reads the file, and knows where its tool keeps indexes."""
    lock_name: ClassVar[str | None] = None
    """The name of the tool's own lock; None for a tool that locks nothing."""

    @property
    def root(self) -> Path:
        """The folder of its ``pyproject.toml``."""
        return self.path.parent

    @property
    def lock(self) -> Path | None:
        """The tool's own lock, which need not be there yet."""
        return self.root / self.lock_name if self.lock_name else None

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own file and the tool's lock."""
        return (self.path, self.lock) if self.lock else (self.path,)

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What ``tool.wheelmill.packages`` says."""
        return self._read().asked

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it depends on, by its ``pyproject.toml``."""
        return self._read().requirements

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        return add_wheels(self._read(), asked, resolutions)

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Take dependencies out of its file; see `Project`."""
        return remove_packages(self._read(), projects)

    def _read(self) -> Pyproject:
        return self.pyproject.read(self.path)

    def _check_lock(self, resolutions: Iterable[Resolution]) -> None:
        if self.lock:
            check_lock(self.lock, [each.candidate for one in resolutions for each in one.choices.values()])

    @property
    def _locked(self) -> set[ProjectName]:
        """The projects in the tool's lock; none where there is no lock."""
        return {each.project for each in read_tool_lock(self.lock)} if self.lock and self.lock.exists() else set()

    def _uninstall_unlocked(self, before: set[ProjectName], python: Path | None, progress: Progress) -> None:
        """Uninstall what the lock held before and holds no longer, and nothing that somebody else installed.

        An exact sync would take that away too, and what other members, groups and extras need.
        """
        gone = sorted(before - self._locked)
        if python and gone:
            installer_for(python, progress).uninstall(gone)
