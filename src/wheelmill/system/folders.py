"""Folders that belong to one process for a time: temporary ones, and the workspaces of builds.

Beside each lies a lock. A process that was killed leaves both; whoever finds the lock free removes them.
"""

from __future__ import annotations

import os
import shutil
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
