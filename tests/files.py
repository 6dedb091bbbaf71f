"""Files of tests, and their modes."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_private(path: Path, text: str) -> Path:
    """Write a file that nobody else may open, and return its path."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)
    return path


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
