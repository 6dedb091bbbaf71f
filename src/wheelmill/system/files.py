"""Files: hashes, modes, atomic writes, folders that no link leads out of, and two that take each other's place.

What is published gets the modes below, whatever the umask is: a web server is another user. What only its owner may
read, such as locks and what an undo needs, is in folders that say so. All else follows the umask.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from wheelmill.errors import ProcessError
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
"""Mode of a published file."""
PUBLIC_FOLDER: Final = 0o755
"""Mode of a published folder."""

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


def behind_links(path: Path) -> Path:
    """Where a path leads through all links; nothing need be there.

    Raises:
        OSError: links lead in a circle. `Path.resolve` raises RuntimeError for that up to Python 3.12, then nothing.
    """
    found = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        found.stat()
    return found


def refuse_links_out(path: Path, folder: Path) -> None:
    """Refuse a tree that cannot be copied from inside a folder alone.

    Args:
        path: a file, or a folder with all that is in it; of a checkout, with what git knows of it.
        folder: what no link may lead out of.

    Raises:
        ValueError: names the entry that leads out of the folder, nowhere or in a circle, that is neither a file nor a
            folder, or that is one too many.
    """
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
    """A file, or a folder and all that is in it, through links; each with what is wrong with it.

    Args:
        path: of the file or folder.
        root: where links may lead to, without links itself.
        above: the folders that were gone through.
    """
    try:
        goal = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError is Python 3.12's for a circle
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
    """Write a file that appears whole under its name, or not at all.

    What a killed process left of it lies beside it, and the next one that writes the file begins there.

    Args:
        path: the file.
        mode: exactly that of the file; None follows the umask.
    """
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
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it was
        raise
    finally:
        os.close(descriptor)


def write_bytes(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content atomically; see `atomic_write`."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)


def write_durably(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content atomically, flushed to the disk before this returns; see `atomic_write`."""
    with atomic_write(path, mode=mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def make_public_folder(folder: Path) -> None:
    """Make a published folder; one that exists keeps its mode, and those above it follow the umask."""
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
    """Whether a file belongs to the user who runs this; on Windows, where places of all people are not used, always."""
    return sys.platform == "win32" or path.lstat().st_uid == os.getuid()


def link_or_copy(source: Path, destination: Path) -> Path:
    """Give a file a second name, which is returned; copy it where the file system has no hard links."""
    try:
        os.link(source, destination, follow_symlinks=False)
    except OSError:
        copy_file(source, destination)
        shutil.copymode(source, destination)
    return destination


def copy_file(source: Path, destination: Path) -> None:
    """Copy a file; an error names the copy, since it is the disk of the copy that may be full."""
    try:
        shutil.copyfile(source, destination)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(destination)) from None


def exchange(first: Path, second: Path) -> bool:
    """Exchange two folders of one file system in one step.

    Returns:
        Whether the kernel and the file system can do so.

    Raises:
        OSError: the folders cannot be moved, such as one that is mounted.
    """
    import ctypes  # noqa: PLC0415 - takes long

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # glibc 2.28
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number), str(second))
