"""The interface of every kind of project. Its file is edited as data, and only its own tool locks and installs."""

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
    """An edit of a project's files that is yet to be written."""

    contents: Mapping[Path, bytes]
    """The new content of each file that changes."""
    notes: tuple[str, ...] = ()
    """Notes for the user, a sentence each."""

    @classmethod
    def of(cls, path: Path, content: bytes, notes: Sequence[str] = ()) -> Edit:
        """The edit of one file, which is empty where the file has that content already."""
        same = path.exists() and path.read_bytes() == content
        return cls(contents={} if same else {path: content}, notes=tuple(notes))

    def write(self) -> None:
        """Write the files, each atomically; a link still leads where it led, and modes stay.

        Raises:
            PermissionError: one is read-only, which would not keep it from being replaced.
        """
        for path, content in self.contents.items():
            goal = behind_links(path)
            if goal.exists() and not os.access(goal, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            write_bytes(goal, content, mode=stat.S_IMODE(goal.stat().st_mode) if goal.exists() else None)


def note_torch_index(edit: Edit, path: Path, resolutions: Sequence[Resolution]) -> Edit:
    """Add where torch is when that is no usual place, for a file that cannot say it."""
    places = {each.torch_index: each.environment.cuda for each in resolutions if each.torch and each.torch_index}
    notes = [f"{path.name} cannot say that torch for CUDA {cuda} is at {place}" for place, cuda in places.items()]
    return replace(edit, notes=(*edit.notes, *notes))


class Project(Protocol):
    """A project: files that declare dependencies, and the environment that they are installed in."""

    @property
    def kind(self) -> str:
        """Its kind, in words: ``uv project``."""
        ...

    @property
    def path(self) -> Path:
        """The file that its dependencies stand in, which need not be there yet."""
        ...

    @property
    def root(self) -> Path:
        """The folder that its lock belongs to."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that an edit or its own tool may write, whether it is there or not."""
        ...

    @property
    def environment(self) -> Path | None:
        """The folder of its environment, which need not be there yet; None while only its tool knows where."""
        ...

    def find_python(self) -> Path | None:
        """The interpreter that its wheels are for: the one that was named, else what its tool takes.

        None where no Python on this machine fits what the project declares.
        """
        ...

    def check_install(self) -> None:
        """Refuse what `install` could not do, before anything is touched.

        Raises:
            UsageError: says what is missing.
        """
        ...

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What wheelmill was asked for, so that an update may take anything that fits it.

        Raises:
            UsageError: it cannot be read.
        """
        ...

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Everything that it depends on.

        Raises:
            UsageError: it cannot be read.
        """
        ...

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Make it depend on wheels that were chosen.

        Args:
            asked: what was asked for, which is kept for updates.
            resolutions: what was chosen, for each environment of the project.

        Raises:
            UsageError: this cannot be written there, or the project asks for another torch.
        """
        ...

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Take dependencies away, and all that was added for them alone.

        Raises:
            UsageError: it does not depend on one of them.
        """
        ...

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Lock it and install what its files say now, with its own tool.

        Args:
            resolutions: what was chosen; what is locked must have the same hashes.
            cache: the wheels on disk, for a tool that locks nothing.
            progress: shows what the tool prints.

        Raises:
            InstallError: its tool failed.
            IntegrityError: bytes differ from what was promised.
            NetworkError: a server did not answer the tool.
        """
        ...

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Lock it and take what was removed out of its environment, with its own tool.

        Raises:
            InstallError: its tool failed.
        """
        ...
