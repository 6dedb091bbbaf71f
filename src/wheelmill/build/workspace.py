"""The folder of a group's builds: it never moves, because paths reach the compiler.

nvcc derives the names of internal symbols from the path of the source, and compiler caches compare the paths of
headers: with one folder for all Pythons of a group, two builds of one target are equal to the byte.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.plan.targets import BuildTarget
from wheelmill.system.progress import Progress

_LOCK: Final = ".lock"


@contextmanager
def workspace_of(target: BuildTarget, progress: Progress) -> Iterator[Path]:
    """The folder of a target's group, empty, and nobody else's while it is held."""
    folder = user_cache_path("wheelmill") / "build" / target.cell.group
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step(f"{target.cell.id}: waiting for another build of {target.cell.group} on this machine")
            fcntl.flock(lock, fcntl.LOCK_EX)
        _empty(folder)
        try:
            yield folder
        finally:
            _empty(folder)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()
