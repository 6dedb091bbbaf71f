"""Folders that belong to one process for a time, and snapshots of folders.

Beside each temporary folder lies a lock. A killed process leaves both; the next one that finds the lock free removes
them. A snapshot consists of hard links, which take no space: programs that install packages remove a file or rename
another one over it, and neither changes the file itself. Where a file system has no hard links, files are copied.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.system.files import is_mine
from wheelmill.system.locks import hold, wait_silently

_SUFFIX: Final = ".wheelmill-lock"


def workspaces() -> Path:
    """Where builds have their folders."""
    return user_cache_path("wheelmill") / "build"


@contextmanager
def claim_folder(folder: Path, *, wait: Callable[[str], None] | None) -> Iterator[Path]:
    """Hold a folder that is empty at first and gone afterwards; what killed processes left beside it is removed first.

    Args:
        folder: where it is to be, in a place that keeps its lock, too.
        wait: is told who has it, and then it is waited for; None does not wait.

    Raises:
        BlockingIOError: somebody has it, and it is not waited for.
    """
    sweep(folder.parent)
    lock = folder.with_name(f".{folder.name}{_SUFFIX}")
    with hold(lock, wait=wait, inherited=True, remove=False):
        try:
            remove_tree(folder)
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            remove_tree(folder)
            lock.unlink()


@contextmanager
def temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """Make an empty folder that only this user may open, and that is gone afterwards; see `claim_folder`.

    Args:
        place: the folder that gets it; None takes the one that this machine has for temporary files.
    """
    place = place or Path(tempfile.gettempdir())
    with claim_folder(place / f".wheelmill-{uuid.uuid4().hex[:12]}", wait=wait_silently) as folder:
        yield folder


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Let libraries that ask `tempfile` for a place get one in a folder."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def sweep(place: Path, *, dry_run: bool = False) -> int:
    """Remove the claimed folders of a place that no living process holds.

    Args:
        place: the folder that holds them; it need not exist.
        dry_run: whether they are only counted.

    Returns:
        The bytes that they took.
    """
    size = 0
    for lock in list(place.glob(f".*{_SUFFIX}")):
        name = lock.name.removeprefix(".").removesuffix(_SUFFIX)
        folder = place / name
        with suppress(OSError):  # among them: it is held, or another sweep was quicker
            if not name.strip(".") or not is_mine(lock):  # in a place that all people share
                continue
            with hold(lock, wait=None, remove=False):
                size += size_of(folder)
                if not dry_run:
                    remove_tree(folder)
                    lock.unlink()
    return size


def sweep_this_machine(*, dry_run: bool = False) -> int:
    """Sweep every place that commands share: temporary files, our cache, and the workspaces of builds."""
    places = (Path(tempfile.gettempdir()), user_cache_path("wheelmill"), workspaces())
    return sum(sweep(place, dry_run=dry_run) for place in places)


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder; of a link, its own."""
    return sum(os.lstat(Path(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names)


def remove_tree(folder: Path) -> None:
    """Remove a folder, if it is there, with all that is in it; foreign code may have taken away our permissions."""
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(folder)
        except PermissionError:
            for parent, names, _ in os.walk(folder):
                for path in (Path(parent, name) for name in (".", *names)):
                    if not path.is_symlink():
                        path.chmod(0o700)
            shutil.rmtree(folder)


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
