"""Files: hashes, modes, atomic writes, trees without outside links, and the exchange of two folders.

Published files get the modes below, whatever the umask: a web server is another user. Private ones, such as locks and
rollback data, are in private folders. All else follows the umask.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import Sha256
from wheelmill.system.git import files_of_checkout
from wheelmill.system.locks import open_locked, wait_silently

if sys.platform == "win32":
    from wheelmill.system import windows

_HERE: Final = -100
"""``AT_FDCWD``: relative paths begin in the working folder."""
_EXCHANGE: Final = 2
"""``RENAME_EXCHANGE``, https://man7.org/linux/man-pages/man2/rename.2.html."""

PUBLIC_FILE: Final = 0o644
PUBLIC_FOLDER: Final = 0o755

MAX_FILE_BYTES: Final = 1 << 20
"""Bytes of a file that people write; tomlkit takes two seconds for them."""
MAX_LOCK_BYTES: Final = 64 << 20
"""Bytes of a lock. A thousand packages with all their wheels have 10 MB."""
MAX_FILENAME: Final = 255
"""Characters of a file name; no file system of today keeps more."""
MAX_ENTRIES: Final = 100_000
"""Files and folders of a tree; links in it can make one of any size out of a few."""


def sha256_of(path: Path) -> Sha256:
    """Hash a file of any size."""
    with path.open("rb") as file:
        return Sha256(hashlib.file_digest(file, "sha256").hexdigest())


def sha256_of_bytes(content: bytes) -> Sha256:
    """Hash bytes in memory."""
    return Sha256(hashlib.sha256(content).hexdigest())


def read_start(path: Path, most: int) -> bytes:
    """Read a regular file up to one byte past a limit, so that the caller can detect a longer one; no other exists."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with path.open("rb") as file:
        return file.read(most + 1)


def read_bounded(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Read a user's file; a pipe, a device, a folder or too long a file is refused, and a missing one not found."""
    if path.exists() and not path.is_file():
        raise UsageError("not-a-file", f"{path} is no regular file")
    content = read_start(path, most)
    if len(content) > most:
        raise UsageError("file-too-large", f"{path} has more than {most} bytes")
    return content


def behind_links(path: Path) -> Path:
    """Resolve all links of a path, which need not exist; raises OSError for a circle, unlike `Path.resolve`."""
    resolved = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        resolved.stat()
    return resolved


def refuse_links_out(path: Path, folder: Path) -> None:
    """Raise ValueError for a tree that cannot be copied from `folder` alone; of a checkout, listed files count."""
    try:
        tops = files_of_checkout(path) or (path,)
    except ProcessError as error:
        raise ValueError(f"git does not list the files of this checkout: {error.tail}") from None
    entries = (found for top in tops for found in _entries(top, folder.resolve(), frozenset()))
    for number, (entry, fault) in enumerate(entries):
        if number >= MAX_ENTRIES:
            raise ValueError(f"'{path.relative_to(folder)}' has more than {MAX_ENTRIES} files and folders")
        if fault:
            raise ValueError(f"'{entry.relative_to(folder)}' {fault}")


def _entries(path: Path, root: Path, above: frozenset[Path]) -> Iterator[tuple[Path, str | None]]:
    """Yield the entries of a tree through links below `root`, each with its fault or None; `above` were passed."""
    try:
        goal = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError is for a circle, up to Python 3.12
        yield path, "is a link that leads nowhere"
        return
    if not goal.is_relative_to(root):
        yield path, f"leads out of {root}"
    elif goal in above:
        yield path, "leads in a circle"
    elif not (goal.is_dir() or goal.is_file()):
        yield path, "is neither a file nor a folder"
    else:
        yield path, None
        # Linux may follow 40 links in one path, and counts some twice where it has to start again.
        for entry in sorted(goal.iterdir()) if goal.is_dir() else ():
            yield from _entries(path / entry.name, root, above | {goal})


@contextmanager
def atomic_write(path: Path, *, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Write a file that appears complete under its name, or not at all.

    A killed process leaves its partial file beside it; the next writer reuses that. `mode` is exactly that of the file;
    None if it follows the umask. A device or pipe, such as ``/dev/null``, is written to and not replaced.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    partial = path.with_name(f".{path.name}.part")
    descriptor = open_locked(partial, wait=wait_silently, mode=0o666 if mode is None else 0o600)
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        if mode is not None:
            partial.chmod(mode)
        if sys.platform == "win32":
            windows.replace(partial, path)
        else:
            partial.replace(path)
    except BaseException as error:  # also an interruption: none may leave a partial file
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk names no file
        raise
    finally:
        os.close(descriptor)


def write_bytes(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content atomically; see `atomic_write`."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)


def write_durably(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content atomically and flush it to the disk; see `atomic_write`."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def make_public_folder(folder: Path) -> None:
    """Make a published folder; an existing one keeps its mode, and its parents follow the umask."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(PUBLIC_FOLDER)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk; Windows has no call for that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_mine(path: Path) -> bool:
    """True if a file belongs to this user; always true on Windows, where shared folders are not used."""
    return sys.platform == "win32" or path.lstat().st_uid == os.getuid()


def link_or_copy(source: Path, destination: Path) -> Path:
    """Hard-link a file, or copy it on a file system without hard links; return the destination."""
    try:
        os.link(source, destination, follow_symlinks=False)
    except OSError:
        copy_file(source, destination)
        shutil.copymode(source, destination)
    return destination


def copy_file(source: Path, destination: Path) -> None:
    """Copy a file; an error names the copy, whose disk may be full."""
    try:
        shutil.copyfile(source, destination)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(destination)) from None


def exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False if kernel or file system cannot, OSError if one cannot be moved."""
    import ctypes  # slow to import

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number), str(second))
