"""Records as JSON: files that are validated when read, and plain values of wheelmill's own that are not.

Plain values need no pydantic, whose import takes longer than a whole command of the client.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from wheelmill.errors import IntegrityError
from wheelmill.system.files import write_bytes

if TYPE_CHECKING:
    from pydantic import TypeAdapter


Record = TypeVar("Record")

Count = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]
"""Programs that read JSON agree only about integers up to here (RFC 8259, section 6)."""

_MAX_FAULTS: Final = 3
"""Faults of a file that are named; a file that is no record has many."""


def write_record(path: Path, record: object) -> None:
    """Write a record as indented JSON."""
    write_bytes(path, record_bytes(record))


def record_bytes(record: object, *, indent: int | None = 2) -> bytes:
    """Serialise a record as JSON; an indent of None omits all spaces."""
    return adapter_of(type(record)).dump_json(record, indent=indent) + b"\n"


def read_record(path: Path, record_type: type[Record]) -> Record:
    """Read a record that `write_record` wrote; raises as `record_from` does."""
    return record_from(path.read_bytes(), record_type, source=str(path))


def record_from(content: bytes, record_type: type[Record], *, source: str) -> Record:
    """Read a record from JSON; raises IntegrityError for anything else, with `source`, the path or URL."""
    from pydantic import ValidationError  # its import takes longer than many commands

    try:
        return adapter_of(record_type).validate_json(content, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        named = [f"{'.'.join(map(str, fault['loc'])) or 'the file'}: {fault['msg']}" for fault in faults[:_MAX_FAULTS]]
        more = [f"and {len(faults) - _MAX_FAULTS} more"] if len(faults) > _MAX_FAULTS else []
        reason = "; ".join(named + more)
        raise IntegrityError("record-invalid", f"{source} is not a {record_type.__name__}: {reason}") from None


_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def adapter_of(record_type: type[Record]) -> TypeAdapter[Record]:
    """Return the pydantic adapter of a type, kept: making one takes as long as reading a thousand wheels."""
    from pydantic import TypeAdapter  # its import takes longer than many commands

    if record_type not in _ADAPTERS:
        _ADAPTERS[record_type] = TypeAdapter(record_type)
    return _ADAPTERS[record_type]


def json_default(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Convert a record to its fields, also those that are None, and a word to its text: for `json.dumps`."""
    return str(value) if hasattr(value, "parse") else fields_of(value)


def fields_of(record: Any, base: Any = None) -> dict[str, Any]:  # noqa: ANN401 - any record
    """Return the fields of a record; with a base class of it, the fields of that class alone."""
    return {field.name: getattr(record, field.name) for field in fields(base or record)}


def plain_of(value: object) -> Any:  # noqa: ANN401 - JSON
    """Convert a record, or a value in one, to JSON values: equal for equal records, without fields that are None."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case _ if is_dataclass(value) and not hasattr(value, "parse"):
            return {name: plain_of(item) for name, item in fields_of(value).items() if item is not None}
        case Mapping():
            return {str(key): plain_of(item) for key, item in value.items()}
        case frozenset():
            return sorted(map(plain_of, value))
        case tuple() | list():
            return list(map(plain_of, value))
        case _:
            return str(value)


def record_of(kind: Any, plain: Any) -> Any:  # noqa: ANN401, PLR0911 - JSON; one return per kind
    """Convert the result of `plain_of` back to `kind`: a record's class, or the type of a value in one."""
    arguments = get_args(kind)
    match get_origin(kind):
        case None if hasattr(kind, "parse"):
            return kind.parse(plain)
        case None if is_dataclass(kind):
            make: Any = kind
            types = _types_of(make)
            return make(**{name: record_of(types[name], item) for name, item in plain.items()})
        case None:
            return plain if plain is None else dt.date.fromisoformat(plain) if kind is dt.date else kind(plain)
        case origin if origin in (Union, UnionType):
            return record_of(arguments[0], plain)
        case origin if origin is Mapping:
            return {record_of(arguments[0], key): record_of(arguments[1], item) for key, item in plain.items()}
        case origin if origin is Literal:
            return plain
        case origin:
            return origin(record_of(arguments[0], item) for item in plain)


_types_of = functools.cache(get_type_hints)
