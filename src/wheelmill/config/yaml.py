"""YAML files under ``config/`` as plain values with positions, checked against a model or with every fault named.

A strict subset of YAML 1.1 is read. Anchors and aliases are refused, because a few lines of them expand to gigabytes.
Tags are refused, because they would make objects, and duplicate keys, because YAML parsers silently keep the last.
"""

from __future__ import annotations

import codecs
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from wheelmill.config.fields import ConfigFile, KeyPath, Unquoted, shown
from wheelmill.errors import ConfigurationError
from wheelmill.names import words_like
from wheelmill.system.records import adapter_of

MAX_BYTES: Final = 16 << 20
MAX_DEPTH: Final = 16
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, where PyYAML was built with it: thirty times as fast."""
_UNQUOTED_RANGE: Final = re.compile(r">[=0-9]")
"""``>=12``, which YAML takes for the beginning of a block scalar."""
_TEXT, _TIMESTAMP, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("str", "timestamp", "null"))


@dataclass(frozen=True, kw_only=True)
class YamlDocument:
    """Parsed YAML file."""

    path: Path
    content: Any
    """Dictionaries, lists, text, `Unquoted` and None; dates are text."""
    positions: dict[KeyPath, tuple[int, int]] = field(repr=False)
    """Line and column, from 1, of every key and list item by its path of keys."""

    def fault(self, key_path: KeyPath, message: str) -> str:
        """Format a fault at its key or the nearest parent: ``packages.yml:12:7: packages.demo.cuda: message``."""
        return phrase_fault(self.path, self.position_of(key_path), key_path, message)

    def position_of(self, key_path: KeyPath) -> tuple[int, int]:
        """Return line and column of a key, or of its nearest parent if it is missing."""
        while key_path not in self.positions:
            key_path = key_path[:-1]
        return self.positions[key_path]


def phrase_fault(path: Path, position: tuple[int, int], key_path: KeyPath, message: str) -> str:
    """Join the parts of a fault in the common format."""
    line, column = position
    keys = ".".join(text if (text := str(key)).isprintable() else repr(text) for key in key_path)
    return f"{path.name}:{line}:{column}: {keys + ': ' if keys else ''}{message}"


def refusal(path: Path, message: str, position: tuple[int, int] = (1, 1), key_path: KeyPath = ()) -> ConfigurationError:
    """Return the error for a fault that ends the reading of a file."""
    return ConfigurationError((phrase_fault(path, position, key_path, message),))


def read_document(path: Path) -> YamlDocument:
    """Read a YAML file."""
    try:
        with path.open("rb") as file:
            return parse_document(path, file.read(MAX_BYTES + 1))
    except OSError as error:
        raise refusal(path, f"cannot be read in {path.parent}: {error.strerror}") from None


def parse_document(path: Path, content: bytes) -> YamlDocument:
    """Read the actual or future content of a YAML file, as `read_document` does."""
    if len(content) > MAX_BYTES:
        raise refusal(path, f"larger than {MAX_BYTES} bytes")
    content = content.removeprefix(codecs.BOM_UTF8)  # libyaml's positions do not count the BOM
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refusal(path, f"not UTF-8: byte {content[error.start]:#04x}", (line, 1)) from None
    reader = _Reader(path, yaml.parse(text, Loader=_LOADER))
    plain = None
    try:
        plain = reader.read()
    except yaml.composer.ComposerError as error:  # YAML outside the subset
        reader.note(error.problem_mark, (), error.problem or "")
    except yaml.MarkedYAMLError as error:
        reader.note(error.problem_mark or error.context_mark, (), _problem(error, text))
    except yaml.reader.ReaderError as error:
        line = content.count(b"\n", 0, error.position) + 1
        message = f"not YAML: the character {chr(error.character)!r} is not allowed"
        reader.faults.append(phrase_fault(path, (line, 1), (), message))
    except (ValueError, OverflowError):  # PyYAML without libyaml does not catch those of int() and chr()
        reader.note(None, (), "not YAML: an escaped character or a number is out of range")
    if reader.faults:
        raise ConfigurationError(tuple(reader.faults))
    return YamlDocument(path=path, content=plain, positions=reader.positions)


def _not_plain(problem: str, mark: Any) -> yaml.composer.ComposerError:  # noqa: ANN401 - two types of yaml, one a C one
    return yaml.composer.ComposerError(problem=problem, problem_mark=mark)


class _Reader:
    """Converter of parser events to plain values, with positions and faults."""

    def __init__(self, path: Path, events: Iterator[Any]) -> None:
        self.path = path
        self.positions: dict[KeyPath, tuple[int, int]] = {(): (1, 1)}
        self.faults: list[str] = []
        self._events = events
        self._tag_of = _LOADER("").resolve

    def read(self) -> object:
        """Return the plain value of the one document; None if there is none."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        plain = self._value(self._next(), ())
        next(self._events)
        if isinstance(another := next(self._events), yaml.DocumentStartEvent):
            raise _not_plain("expected a single document, but found another one", another.start_mark)
        return plain

    def _next(self) -> Any:  # noqa: ANN401 - an event of yaml, which has no types
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _not_plain("anchors and aliases are not supported; write the value out", event.start_mark)
        if getattr(event, "tag", None):
            raise _not_plain("tags are not supported; write the value without one", event.start_mark)
        return event

    def _value(self, event: Any, key_path: KeyPath) -> object:  # noqa: ANN401 - an event of yaml
        if isinstance(event, yaml.ScalarEvent):
            is_plain, _ = event.implicit
            tag = self._tag_of(yaml.ScalarNode, event.value, event.implicit) if is_plain else _TEXT
            if tag in (_TEXT, _TIMESTAMP):
                return event.value
            return None if tag == _NULL else Unquoted(event.value)
        if len(key_path) == MAX_DEPTH:
            raise _not_plain(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(key_path)
        return list(self._items(key_path))

    def _items(self, key_path: KeyPath) -> Iterator[object]:
        for number in itertools.count():
            if isinstance(event := self._next(), yaml.SequenceEndEvent):
                return
            self.positions[*key_path, number] = _position(event.start_mark)
            yield self._value(event, (*key_path, number))

    def _mapping(self, key_path: KeyPath) -> dict[str, object]:
        mapping: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            below = (*key_path, str(getattr(event, "value", "")))
            key = self._value(event, below)
            if not isinstance(key, str):
                wrong = f": '{event.value}'" if isinstance(event, yaml.ScalarEvent) else ", not a collection"
                self.note(event.start_mark, key_path, f"expected a key in quotes{wrong}")
            elif key in mapping:
                self.note(event.start_mark, below, "is here a second time: keep one of the two")
            else:
                self.positions[below] = _position(event.start_mark)
            mapping[str(key)] = self._value(self._next(), below)
        return mapping

    def note(self, mark: object, key_path: KeyPath, message: str) -> None:
        self.faults.append(phrase_fault(self.path, _position(mark), key_path, message))


def _problem(error: yaml.MarkedYAMLError, text: str) -> str:
    """Format a parser error with its context; two common slips get a message of their own."""
    if error.problem_mark and text[error.problem_mark.index :].startswith("\t"):
        return "not YAML: a tab; indent with spaces"
    context = quotes = ""
    if begun := error.context_mark:
        context = f"{error.context} from {':'.join(map(str, _position(begun)))}, "
        if error.context == "while scanning a block scalar" and _UNQUOTED_RANGE.match(text, begun.index):
            quotes = '; a range is written in quotes: ">=12"'
    return f"not YAML: {context}{error.problem}{quotes}"


def _position(mark: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return line and column, from 1, of a yaml.Mark, whose C twin has no public name."""
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


File = TypeVar("File", bound=ConfigFile)


def read_file(path: Path, model: type[File]) -> File:
    """Read one YAML file as a model. Raises ConfigurationError with every fault, in the order of the file."""
    document = read_document(path)
    file, faults = validate(document.content, model, path.parent)
    if file is None:
        raise ConfigurationError(_phrase(document, faults))
    return file


def faults_at(path: Path, faults: list[tuple[KeyPath, str]]) -> tuple[str, ...]:
    """Format faults of this file that only another file reveals, in the order of this file."""
    return _phrase(read_document(path), faults) if faults else ()


def _phrase(document: YamlDocument, faults: list[tuple[KeyPath, str]]) -> tuple[str, ...]:
    in_order = sorted(faults, key=lambda fault: document.position_of(fault[0]))
    return tuple(document.fault(*fault) for fault in in_order)


def validate(content: object, model: type[File], folder: Path) -> tuple[File | None, list[tuple[KeyPath, str]]]:
    """Return the record of a file, None with faults, and each fault's key path and message; paths start in `folder`."""
    try:
        file = adapter_of(model).validate_python(content, context=folder)
    except ValidationError as error:
        return None, [_explain(problem, model) for problem in error.errors()]
    faults = list(file.contradictions())
    return None if faults else file, faults


def _explain(problem: ErrorDetails, model: type) -> tuple[KeyPath, str]:
    """Translate a pydantic error into the terms of the file."""
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
    """Return the keys of the table at a place in a file."""
    kinds: list[Any] = [model]
    for key in key_path:
        kinds = [below for kind in kinds for below in _below(kind, key)]
    return {field.name for kind in kinds if dataclasses.is_dataclass(kind) for field in dataclasses.fields(kind)}


def _below(kind: Any, key: str | int) -> Iterable[Any]:  # noqa: ANN401 - a type, or what stands for one
    """Return the types allowed under a key of a table, a mapping or a list."""
    arguments = get_args(kind)
    if dataclasses.is_dataclass(kind):
        below = get_type_hints(kind).get(str(key))
    elif arguments:
        below = arguments[-1 if get_origin(kind) is Mapping else 0]
    else:
        below = None
    return get_args(below) if get_origin(below) in (Union, UnionType) else (below,)
