"""Snapshots of folders: hard links to all files, which take no space and outlive the replacement of a file.

Programs that install packages remove a file or rename another one over it; neither touches the file itself. Where a
file system has no hard links, files are copied.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from wheelmill.system.folders import remove_tree


def take_snapshot(folder: Path, snapshot: Path) -> int:
    """Give every file below a folder a second name below another one.

    Args:
        folder: the folder as it is now.
        snapshot: the folder to make, best on the same file system; it may lie in the other one.

    Returns:
        How many entries the snapshot has, by which one that is not whole is known.
    """
    snapshot.mkdir()
    count, around = 0, str(snapshot.parent)
    for entry in os.scandir(folder):
        if entry.path == around:
            continue
        count += 1
        if entry.is_dir(follow_symlinks=False):
            count += take_snapshot(Path(entry.path), snapshot / entry.name)
        else:
            _double(entry.path, f"{snapshot}/{entry.name}")
    snapshot.chmod(stat.S_IMODE(folder.stat().st_mode))  # at last: nothing can be put into a folder that is closed
    return count


def count_entries(snapshot: Path) -> int:
    """How many entries a snapshot has; a folder that is not there has none."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(snapshot))


def restore_snapshot(folder: Path, snapshot: Path) -> None:
    """Make a folder what it was when its snapshot was taken; doing so again, after an interruption, is harmless.

    Raises:
        OSError: something there can be neither removed nor made.
    """
    if folder.is_symlink() or not folder.is_dir():
        remove_entry(folder)
        folder.mkdir(parents=True)
    for entry in list(os.scandir(folder)):
        path = Path(entry.path)
        if path != snapshot.parent and not os.path.lexists(snapshot / entry.name):
            remove_entry(path)
    for entry in list(os.scandir(snapshot)):
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            restore_snapshot(path, Path(entry.path))
        elif not _is_same(path, Path(entry.path)):
            remove_entry(path)
            _double(entry.path, str(path))
    folder.chmod(stat.S_IMODE(snapshot.stat().st_mode))


def remove_entry(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it; nothing need be there."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _double(path: str, copy: str) -> None:
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:  # another file system, one that has no hard links, a file of another user
        shutil.copy2(path, copy, follow_symlinks=False)


def _is_same(path: Path, copy: Path) -> bool:
    """Whether what has a path is the file of a snapshot, or a copy that was not written to since."""
    try:
        now, then = path.lstat(), copy.lstat()
    except FileNotFoundError:
        return False
    if os.path.samestat(now, then):
        return True
    if stat.S_ISLNK(now.st_mode) and stat.S_ISLNK(then.st_mode):
        return path.readlink() == copy.readlink()
    return (now.st_mode, now.st_size, now.st_mtime_ns) == (then.st_mode, then.st_size, then.st_mtime_ns)
