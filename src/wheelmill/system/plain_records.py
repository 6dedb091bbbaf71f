"""Records as plain values that JSON knows, and back: without pydantic, which takes longer to import than a client runs.

What is read this way was written this way; nothing is checked.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def plain_of(value: object) -> Any:  # noqa: ANN401 - JSON
    """A record, or a value in one: equal records give equal values, and a field that is None is left out."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case _ if is_dataclass(value) and not hasattr(value, "parse"):
            own = {field.name: getattr(value, field.name) for field in fields(value)}
            return {name: plain_of(item) for name, item in own.items() if item is not None}
        case Mapping():
            return {str(key): plain_of(item) for key, item in value.items()}
        case frozenset():
            return sorted(map(plain_of, value))
        case tuple() | list():
            return list(map(plain_of, value))
        case _:
            return str(value)


def record_of(kind: Any, plain: Any) -> Any:  # noqa: ANN401, PLR0911 - JSON; one line a kind
    """Make a record of what `plain_of` gave.

    Args:
        kind: the record's class, or the type of a value in one.
        plain: the value that `plain_of` gave.
    """
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
