"""Files: hashes, atomic writes, and records kept as JSON."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from wheelmill.errors import IntegrityError
from wheelmill.names import Sha256

Record = TypeVar("Record")


def sha256_of(path: Path) -> Sha256:
    """Hash a file of any size."""
    with path.open("rb") as file:
        return Sha256(hashlib.file_digest(file, "sha256").hexdigest())


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
    except BaseException:
        os.unlink(name)  # noqa: PTH108
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


def write_record(path: Path, record: object) -> None:
    """Keep a record as indented JSON."""
    write_bytes(path, record_bytes(record))


def record_bytes(record: object) -> bytes:
    """A record as indented JSON."""
    return _adapter(type(record)).dump_json(record, indent=2) + b"\n"


def read_record(path: Path, record_type: type[Record]) -> Record:
    """Read a record that `write_record` kept.

    Raises:
        IntegrityError: the file does not hold such a record.
    """
    return record_from(path.read_bytes(), record_type, source=str(path))


def record_from(content: bytes, record_type: type[Record], *, source: str) -> Record:
    """Read a record from the JSON that `record_bytes` gave.

    Args:
        content: the JSON.
        record_type: what it should hold.
        source: where it is from, for the error.

    Raises:
        IntegrityError: it does not hold such a record.
    """
    try:
        return _adapter(record_type).validate_json(content)
    except ValidationError as error:
        raise IntegrityError(f"{source} is not a {record_type.__name__}: {error}") from None


_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def _adapter(record_type: type[Record]) -> TypeAdapter[Record]:
    """Kept: making one takes as long as reading a thousand wheels."""
    if record_type not in _ADAPTERS:
        _ADAPTERS[record_type] = TypeAdapter(record_type)
    return _ADAPTERS[record_type]
