"""Temporary folders with locks, and snapshots of folders.

Each temporary folder has a lock beside it. A killed process leaves both; the user's next process that finds the lock
free removes them. A lock begins with a secret of its user, so that none can come with a repository or an archive.

A snapshot consists of hard links, which take no space. Installers remove a file or rename another one over it, and
neither changes the file itself. On a file system without hard links, files are copied.
"""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path, user_state_path

from wheelmill.errors import BuildError
from wheelmill.system import progress
from wheelmill.system.files import is_mine, write_durably
from wheelmill.system.locks import hold, open_locked, wait_silently

_SUFFIX: Final = ".wheelmill-lock"


def workspaces() -> Path:
    """Parent folder of build workspaces."""
    return user_cache_path("wheelmill") / "build"


def check_free_disk(folder: Path, needs: Mapping[str, float], *, hint: str) -> None:
    """Refuse a build whose disk has fewer bytes free than its needs; a missing folder counts as free."""
    needed = sum(needs.values())
    if folder.exists() and (free := shutil.disk_usage(folder).free) < needed:
        parts = ", ".join(f"{what} {progress.size(taken)}" for what, taken in needs.items())
        text = f"{folder} has {progress.size(free)} free and needs {progress.size(needed)}: {parts}"
        raise BuildError("disk-too-small", text, hint=hint)


@contextmanager
def claim_folder(folder: Path, *, wait: Callable[[str], None] | None) -> Iterator[Path]:
    """Hold an empty folder, locked by a file beside it, and remove it afterwards.

    Leftovers of killed processes in the parent folder are removed first. `wait` is called with the holder's description
    before waiting. If it is None and another process holds the folder, the call raises BlockingIOError.
    """
    sweep(folder.parent)
    lock = folder.with_name(f".{folder.name}{_SUFFIX}")
    with hold(lock, wait=wait, inherited=True, remove=False, first_line=_secret()):
        try:
            remove_tree(folder)
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            remove_tree(folder)
            lock.unlink()


@contextmanager
def temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """Make an empty folder for this user only, by default among temporary files, and remove it; see `claim_folder`."""
    place = place or Path(tempfile.gettempdir())
    with claim_folder(place / f".wheelmill-{uuid.uuid4().hex[:12]}", wait=wait_silently) as folder:
        yield folder


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Direct the temporary files of libraries that use `tempfile` into a folder."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def sweep(place: Path, *, dry_run: bool = False) -> int:
    """Remove claimed folders that no living process holds from a place, if it exists; return their size in bytes."""
    size = 0
    for lock in list(place.glob(f".*{_SUFFIX}")):
        name = lock.name.removeprefix(".").removesuffix(_SUFFIX)
        with suppress(OSError):  # such as a held lock, or a concurrent sweep
            if name.strip(".") and lock.is_file() and is_mine(lock):  # the place may be shared with other users
                size += _remove_claimed(place / name, lock, dry_run=dry_run)
    return size


def _remove_claimed(folder: Path, lock: Path, *, dry_run: bool) -> int:
    """Remove a folder and its lock if a process of this user claimed it; return the size that it has, or had."""
    descriptor = open_locked(lock, wait=None)
    try:
        secret = _secret().encode()
        line = os.read(descriptor, len(secret))
        is_unused = not line and not os.path.lexists(folder)  # of a process that was killed before it wrote the line
        if line != secret and not is_unused:
            return 0
        size = size_of(folder)
        if not dry_run:
            remove_tree(folder)
            lock.unlink()
        return size
    finally:
        os.close(descriptor)


@functools.cache
def _secret() -> str:
    """The line of this user's locks; of this process's alone where the user's state cannot be written."""
    path = user_state_path("wheelmill") / "locks-of-folders"
    line = f"{secrets.token_hex(16)}\n"
    with suppress(OSError, UnicodeDecodeError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_size != len(line):  # also one that a full disk or a crash cut off
            write_durably(path, line.encode(), mode=0o600)
        line = path.read_text(encoding="ascii")
    return line


def sweep_this_machine(*, dry_run: bool = False) -> int:
    """Sweep the places that commands share: temporary files, the cache, and build workspaces."""
    places = (Path(tempfile.gettempdir()), user_cache_path("wheelmill"), workspaces())
    return sum(sweep(place, dry_run=dry_run) for place in places)


def _raise(error: OSError) -> None:
    raise error


def entries_below(folder: Path, on_error: Callable[[OSError], None] = _raise) -> list[Path]:
    """List everything below a folder, sorted; `pathlib` silently leaves out folders that cannot be read."""
    below = os.walk(folder, onerror=on_error)
    return sorted(Path(place, name) for place, folders, files in below for name in (*folders, *files))


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; a link counts with its own size."""
    return sum(os.lstat(Path(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names)


def remove_tree(folder: Path) -> None:
    """Remove a folder and its content, if it exists, even where foreign code took away our permissions."""
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
    """Hard-link every file below a folder into a new one, maybe inside it, and return its number of entries."""
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
    snapshot.chmod(stat.S_IMODE(folder.stat().st_mode))  # last, since a read-only folder takes no entries
    return count


def count_entries(snapshot: Path) -> int:
    """Number of entries in a snapshot; 0 if it does not exist."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(snapshot))


def restore_snapshot(folder: Path, snapshot: Path) -> None:
    """Restore a folder from its snapshot; repeating this after an interruption is harmless."""
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
    """Remove a file, a link, or a folder with its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _double(path: str, copy: str) -> None:
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:  # another file system, one without hard links, a file of another user
        shutil.copy2(path, copy, follow_symlinks=False)


def _is_same(path: Path, copy: Path) -> bool:
    """True if a path is still the snapshot's file, or a copy not modified since."""
    try:
        now, then = path.lstat(), copy.lstat()
    except FileNotFoundError:
        return False
    if os.path.samestat(now, then):
        return True
    if stat.S_ISLNK(now.st_mode) and stat.S_ISLNK(then.st_mode):
        return path.readlink() == copy.readlink()
    return (now.st_mode, now.st_size, now.st_mtime_ns) == (then.st_mode, then.st_size, then.st_mtime_ns)
