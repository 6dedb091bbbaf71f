"""Files of tests, and their modes."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_private(path: Path, text: str) -> Path:
    """Write a file that nobody else may open, and return its path."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)
    return path


def own_folder(name: str) -> Path:
    """Make a folder of this user's for what is made once a machine: whoever owns it decides what the tests run."""
    folder = Path(tempfile.gettempdir()) / f"wheelmill-{name}-of-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """What is made meanwhile lacks these permissions."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes_of(*paths: Path) -> set[int]:
    """The permissions that files or folders have."""
    return {stat.S_IMODE(path.stat().st_mode) for path in paths}
