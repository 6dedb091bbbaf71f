"""Records as JSON files, checked when they are read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from wheelmill.errors import IntegrityError
from wheelmill.system.files import write_bytes

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Record = TypeVar("Record")

_MAX_TOLD: Final = 3
"""Faults of a file. One that is no record at all has many."""


def write_record(path: Path, record: object) -> None:
    """Keep a record as indented JSON."""
    write_bytes(path, record_bytes(record))


def record_bytes(record: object, *, indent: int | None = 2) -> bytes:
    """A record as JSON; an indent of None leaves out all spaces."""
    return _adapter(type(record)).dump_json(record, indent=indent) + b"\n"


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
    from pydantic import ValidationError  # noqa: PLC0415 - slower to import than many a command runs

    try:
        record: Record = _adapter(record_type).validate_json(content, strict=True)
    except ValidationError as error:
        raise IntegrityError(
            "record-invalid", f"{source} is not a {record_type.__name__}: {_problems(error)}"
        ) from None
    return record


def _problems(error: ValidationError) -> str:
    """Where the first few faults are, and what was expected there."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, fault['loc'])) or 'the file'}: {fault['msg']}" for fault in faults[:_MAX_TOLD]]
    return "; ".join([*told, *([f"and {len(faults) - _MAX_TOLD} more"] if len(faults) > _MAX_TOLD else [])])


def _new_adapter(record_type: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slower to import than many a command runs

    return TypeAdapter(record_type)


_adapter: Final[Callable[[type], TypeAdapter[Any]]] = functools.cache(_new_adapter)
"""Kept: making one takes as long as reading a thousand wheels."""
