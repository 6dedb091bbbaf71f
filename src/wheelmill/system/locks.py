"""File locks that name their holder; the kernel releases a lock when its last process has ended.

Programs that a holder starts may hold it too: children that outlive a killed command keep the next one waiting.
Not on Windows, where a lock belongs to one process.
"""

from __future__ import annotations

import errno
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    from wheelmill.system import windows
else:
    import fcntl

_LONGEST: Final = 200
"""Bytes of a lock's text that are read."""
_UNSUPPORTED: Final = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
"""Errors of cluster file systems that have no locks."""

_inherited: Final[set[int]] = set()
_inheriting: Final = threading.Lock()


@contextmanager
def hold(
    path: Path,
    *,
    wait: Callable[[str], None] | None,
    inherited: bool = False,
    remove: bool = True,
    first_line: str = "",
) -> Iterator[None]:
    """Hold the lock on a file, created if missing, while the context is open.

    `wait` is called with the holder's description before waiting. If it is None and another process holds the lock, the
    call raises BlockingIOError. On a file system without locks, a call that may wait goes on, and any other raises.
    With `inherited`, programs started meanwhile hold the lock until they have ended. With `remove`, the file is removed
    at the end; an earlier removal needs the lock to be held. `first_line` stands above the description in the file.
    """
    descriptor = open_locked(path, wait)
    if inherited:
        _inherited.add(descriptor)
    try:
        with suppress(OSError):  # a full disk does not affect the lock
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, f"{first_line}{_description()}".encode())
        yield
    finally:
        if remove:
            path.unlink(missing_ok=True)
        with _inheriting:
            _inherited.discard(descriptor)
            os.close(descriptor)


def open_locked(path: Path, wait: Callable[[str], None] | None, *, mode: int = 0o600) -> int:
    """Open a file, made with `mode` less the umask, once its lock is free; closing it releases the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = _open(path, mode)
        with ExitStack() as opened:
            opened.callback(os.close, descriptor)
            try:
                _lock(descriptor, wait=False)
            except BlockingIOError:
                if wait is None:
                    raise
                os.lseek(descriptor, 0, os.SEEK_SET)
                wait(os.read(descriptor, _LONGEST).decode(errors="replace").rpartition("\n")[2])
                _lock(descriptor, wait=True)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
                if wait is None:
                    raise BlockingIOError(error.errno, error.strerror, str(path)) from None
            if _is_at(path, descriptor):  # else its holder removed or renamed the file
                opened.pop_all()
                return descriptor


def _open(path: Path, mode: int) -> int:
    if sys.platform == "win32":
        return windows.open_shared(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)


def _lock(descriptor: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        windows.lock(descriptor, wait=wait)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def wait_silently(_holder: str) -> None:
    """Wait without a message, for a lock that is held only for moments."""


@contextmanager
def inherited_locks() -> Iterator[Sequence[int]]:
    """Yield the lock descriptors that a program is to inherit; none is closed while it is started."""
    with _inheriting:
        yield () if sys.platform == "win32" else tuple(_inherited)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _description() -> str:
    """Describe this process to others, without options, which may hold a password."""
    program, *arguments = sys.argv or [""]
    words = [Path(program).name, *itertools.takewhile(lambda word: not word.startswith("-"), arguments)]
    return f"process {os.getpid()} ({' '.join(words)}), since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
