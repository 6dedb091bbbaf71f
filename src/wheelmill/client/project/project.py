"""The interface of every kind of project: its file is edited as data, and only its own tool locks and installs."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from packaging.requirements import Requirement

from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.records import Resolution
from wheelmill.names import ProjectName
from wheelmill.system.files import behind_links, write_bytes
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Edit of a project's files, not yet written."""

    contents: Mapping[Path, bytes]
    """The new content of each file that changes."""
    notes: tuple[str, ...] = ()
    """Notes for the user, a sentence each."""

    @classmethod
    def of(cls, path: Path, content: bytes, notes: Sequence[str] = ()) -> Edit:
        """Return the edit of one file; it is empty if the file already has that content."""
        same = path.exists() and path.read_bytes() == content
        return cls(contents={} if same else {path: content}, notes=tuple(notes))

    def write(self) -> None:
        """Write each file atomically; symbolic links keep their targets, and modes stay.

        Raises:
            PermissionError: a file is read-only, which alone would not prevent its replacement.
        """
        for path, content in self.contents.items():
            goal = behind_links(path)
            if goal.exists() and not os.access(goal, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            write_bytes(goal, content, mode=stat.S_IMODE(goal.stat().st_mode) if goal.exists() else None)


def note_torch_index(edit: Edit, path: Path, resolutions: Sequence[Resolution]) -> Edit:
    """Add a note on torch's index if it is unusual and the file cannot state it."""
    places = {each.torch_index: each.environment.cuda for each in resolutions if each.torch and each.torch_index}
    notes = [f"{path.name} cannot say that torch for CUDA {cuda} is at {place}" for place, cuda in places.items()]
    return replace(edit, notes=(*edit.notes, *notes))


class Project(Protocol):
    """Project: files that declare dependencies, and the environment for them."""

    @property
    def kind(self) -> str:
        """Its kind, in words: ``uv project``."""

    @property
    def path(self) -> Path:
        """The file with its dependencies, which need not exist yet."""

    @property
    def root(self) -> Path:
        """The folder of its lock."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that an edit or its own tool may write, even if it does not exist."""

    @property
    def environment(self) -> Path | None:
        """The folder of its environment, which need not exist yet; None if only its tool knows it."""

    def find_python(self) -> Path | None:
        """The interpreter for its wheels: the one that the user named, else its tool's choice.

        None if no Python on this machine fits the project's declaration.
        """

    def check_install(self) -> None:
        """Refuse an impossible `install` before any change.

        Raises:
            UsageError: a prerequisite is missing.
        """

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The user's requests to wheelmill, from which an update may take any matching version."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All its dependencies."""

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Make it depend on chosen wheels, given for each environment in ``resolutions``; updates read ``asked``.

        Raises:
            UsageError: the file cannot express this, or the project requires another torch.
        """

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Remove dependencies, and all additions made for them alone.

        Raises:
            UsageError: it does not depend on one of them.
        """

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Lock it and install the dependencies in its files, with its own tool.

        The lock must have the hashes of the chosen wheels. The cache is for a tool that locks nothing.

        Raises:
            InstallError: its tool failed.
            IntegrityError: bytes do not match their hash.
            NetworkError: a server did not respond to the tool.
        """

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Lock it and remove projects from its environment, with its own tool."""
