"""Records kept as JSON files, and checked when they are read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from wheelmill.errors import IntegrityError
from wheelmill.system.files import write_bytes

Record = TypeVar("Record")


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
        content: the JSON text of the record.
        record_type: the dataclass that the text must fit.
        source: the path or URL that errors name.

    Raises:
        IntegrityError: it does not hold such a record.
    """
    try:
        record: Record = _adapter(record_type).validate_json(content)
    except ValidationError as error:
        raise IntegrityError(f"{source} is not a {record_type.__name__}: {error}") from None
    return record


_adapter: Final[Callable[[type], TypeAdapter[Any]]] = functools.cache(TypeAdapter)
"""Kept: making one takes as long as reading a thousand wheels."""
