"""Reading one file under ``config/``: either it fits its model, or every fault is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from wheelmill.config.annotations import ConfigFile, KeyPath, shown
from wheelmill.config.document import YamlDocument, read_document
from wheelmill.errors import ConfigurationError
from wheelmill.names import words_like

File = TypeVar("File", bound=ConfigFile)
Record = TypeVar("Record")

_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def adapter_of(model: type[Record]) -> TypeAdapter[Record]:
    """What reads and writes a model; cached, since making one takes as long as reading a file."""
    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def read_file(path: Path, model: type[File]) -> File:
    """Read one YAML file, in which a model must stand.

    Raises:
        ConfigurationError: with every fault, in the order of the file.
    """
    document = read_document(path)
    file, found = validate(document.content, model, path.parent)
    if file is None:
        raise ConfigurationError(_phrase(document, found))
    return file


def faults_at(path: Path, found: list[tuple[KeyPath, str]]) -> tuple[str, ...]:
    """Phrase faults of this file that only another file shows, in the order of this file."""
    return _phrase(read_document(path), found) if found else ()


def _phrase(document: YamlDocument, found: list[tuple[KeyPath, str]]) -> tuple[str, ...]:
    in_order = sorted(found, key=lambda fault: document.position_of(fault[0]))
    return tuple(document.fault(*fault) for fault in in_order)


def validate(content: object, model: type[File], folder: Path) -> tuple[File | None, list[tuple[KeyPath, str]]]:
    """Make the record of a file from its content.

    Args:
        content: plain values, as of a `Document`.
        model: what they must be.
        folder: the configuration folder, which paths in it start from.

    Returns:
        The record, or None; and every fault: where it is, and its message.
    """
    try:
        file = adapter_of(model).validate_python(content, context=folder)
    except ValidationError as error:
        return None, [_explain(problem, model) for problem in error.errors()]
    found = list(file.contradictions())
    return None if found else file, found


def _explain(problem: ErrorDetails, model: type) -> tuple[KeyPath, str]:
    """Translate pydantic's messages into the words of the file."""
    key_path = tuple(part for part in problem["loc"] if not str(part).startswith("["))
    value = problem["input"]
    match problem["type"]:
        case "missing":
            message = "is required"
        case "unexpected_keyword_argument" | "extra_forbidden":
            close = words_like(str(key_path[-1]).lower(), _keys_at(key_path[:-1], model))
            message = "is not a key here" + (f"; did you mean '{close[0]}'?" if close else "")
        case "value_error":
            message = str(problem["ctx"]["error"])
        case "list_type" | "tuple_type":
            message = f"expected a list, not {shown(value)}"
        case "dict_type" | "dataclass_type":
            message = f"expected keys and values, not {shown(value)}"
        case "literal_error":
            message = f"expected {problem['ctx']['expected']}, not {shown(value)}"
        case "too_short":
            message = "expected at least one item"
        case kind if kind.startswith("date_"):
            message = f"expected a date such as 2026-11-21, not {shown(value)}"
        case _:
            message = problem["msg"]
    return key_path, message


def _keys_at(key_path: KeyPath, model: type) -> set[str]:
    """The keys of the table at a place in a file."""
    kinds: list[Any] = [model]
    for key in key_path:
        kinds = [below for kind in kinds for below in _below(kind, key)]
    return {field.name for kind in kinds if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)}


def _below(kind: Any, key: str | int) -> Iterable[Any]:  # noqa: ANN401 - a type, or what stands for one
    """What may stand under a key of a table, a mapping or a list."""
    arguments = get_args(kind)
    if dataclasses.is_dataclass(kind):
        below = get_type_hints(kind).get(str(key))
    elif arguments:
        below = arguments[-1 if get_origin(kind) is Mapping else 0]
    else:
        below = None
    return get_args(below) if get_origin(below) in (Union, UnionType) else (below,)
