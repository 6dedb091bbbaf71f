"""Files and folders as they were before a change, and restoring them; doing so twice is harmless."""

from __future__ import annotations

import base64
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wheelmill.system.files import behind_links, write_durably
from wheelmill.system.folders import count_entries, remove_entry, restore_snapshot, take_snapshot


@dataclass(frozen=True, kw_only=True)
class KeptFile:
    """A file as it was; its fields are what JSON can hold."""

    path: Path
    content: str | None = None
    """In base64; None when there was none."""
    mode: int = 0
    link: str | None = None
    """Where it leads, if it was a symbolic link."""

    @property
    def other_content(self) -> bytes | None:
        """What the file holds now, if that is anything else than it was."""
        if not self.path.is_file() or self.path.is_symlink():
            return None
        now = self.path.read_bytes()
        return None if self.content is not None and now == base64.b64decode(self.content) else now

    def put_back(self) -> None:
        """Restore it, byte for byte."""
        if self.link is not None:
            if not self.path.is_symlink() or str(self.path.readlink()) != self.link:
                remove_entry(self.path)
                self.path.symlink_to(self.link)
        elif self.content is None:
            remove_entry(self.path)
        else:
            if self.path.is_symlink() or not self.path.is_file() or self.other_content is not None:
                if self.path.is_dir() and not self.path.is_symlink():
                    remove_entry(self.path)
                write_durably(self.path, base64.b64decode(self.content), mode=self.mode)
            self.path.chmod(self.mode)


@dataclass(frozen=True, kw_only=True)
class KeptTree:
    """A folder as it was, with all that was in it."""

    path: Path
    snapshot: Path | None = None
    """None when there was no such folder."""
    entries: int = 0
    """The number of entries in the snapshot."""

    def put_back(self) -> bool:
        """Make it what it was; False, and nothing is touched, when a loss of power left no whole snapshot."""
        if self.snapshot is None:
            remove_entry(self.path)
        elif count_entries(self.snapshot) == self.entries:
            restore_snapshot(self.path, self.snapshot)
        else:
            return False
        return True


def keep_file(path: Path) -> Iterator[KeptFile]:
    """What a file is now; of a link also what it leads to."""
    if path.is_symlink():
        yield KeptFile(path=path, link=str(path.readlink()))
        yield from keep_file(behind_links(path))
    elif path.exists():
        content = base64.b64encode(path.read_bytes()).decode()
        yield KeptFile(path=path, content=content, mode=stat.S_IMODE(path.stat().st_mode))
    else:
        yield KeptFile(path=path)


def keep_tree(folder: Path, snapshot: Path) -> KeptTree:
    """What a folder is now; its snapshot is made where it says."""
    if not folder.is_dir():
        return KeptTree(path=folder)
    return KeptTree(path=folder, snapshot=snapshot, entries=take_snapshot(folder, snapshot))
