"""Files: hashes and atomic writes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wheelmill.names import Sha256


def sha256_of(path: Path) -> Sha256:
    """Hash a file of any size."""
    with path.open("rb") as file:
        return Sha256(hashlib.file_digest(file, "sha256").hexdigest())


def sha256_of_bytes(content: bytes) -> Sha256:
    """Hash bytes in memory."""
    return Sha256(hashlib.sha256(content).hexdigest())


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears whole under its name, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(name, 0o644)  # noqa: PTH101 - mkstemp gives 0600; these files are published
        os.replace(name, path)  # noqa: PTH105
    except BaseException as error:
        os.unlink(name)  # noqa: PTH108
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it was
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content atomically."""
    with atomic_write(path) as file:
        file.write(content)


def write_if_new(path: Path, content: bytes) -> bool:
    """Replace a file's content; False when that is what it has."""
    if path.exists() and path.read_bytes() == content:
        return False
    write_bytes(path, content)
    return True
