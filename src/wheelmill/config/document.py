"""YAML with positions: plain values, and where in the file each of them stands.

A strict subset of YAML 1.1 is read. Anchors and aliases are refused (a few lines of them expand to gigabytes), tags
too (they would make objects), and so are duplicate keys, of which YAML parsers silently keep the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from wheelmill.config.annotations import KeyPath, Unquoted
from wheelmill.errors import ConfigurationError

MAX_BYTES: Final = 4 << 20
MAX_DEPTH: Final = 16


@dataclass(frozen=True, kw_only=True)
class YamlDocument:
    """One YAML file."""

    path: Path
    content: Any
    """Dictionaries, lists, text, `Unquoted` and None; dates are text."""
    positions: dict[KeyPath, tuple[int, int]] = field(repr=False)
    """Line and column, from 1, of every key and list item by its path of keys."""

    def fault(self, key_path: KeyPath, message: str) -> str:
        """Phrase one fault: ``packages.yml:12:7: packages.flash-attn.versions: message``.

        It points at the key, or at the nearest one above it when the key itself is missing.
        """
        return phrase_fault(self.path, self.position_of(key_path), key_path, message)

    def position_of(self, key_path: KeyPath) -> tuple[int, int]:
        """Line and column of a key, or of the nearest one above it that is there."""
        while key_path not in self.positions:
            key_path = key_path[:-1]
        return self.positions[key_path]


def phrase_fault(path: Path, position: tuple[int, int], key_path: KeyPath, message: str) -> str:
    """Join the parts of a fault in the one form that all of them have."""
    line, column = position
    keys = ".".join(text if (text := str(key)).isprintable() else repr(text) for key in key_path)
    return f"{path.name}:{line}:{column}: {keys + ': ' if keys else ''}{message}"


def read_document(path: Path) -> YamlDocument:
    """Read a YAML file.

    Raises:
        ConfigurationError: it is missing or not in the subset; with every fault found up to the first one that hides
            what follows it.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigurationError((phrase_fault(path, (1, 1), (), f"larger than {MAX_BYTES} bytes"),))
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        message = f"cannot be read in {path.parent}: {error.strerror}"
        raise ConfigurationError((phrase_fault(path, (1, 1), (), message),)) from None
    except UnicodeDecodeError as error:
        position = (error.object[: error.start].count(b"\n") + 1, 1)
        message = f"not UTF-8: byte {error.object[error.start]:#04x}"
        raise ConfigurationError((phrase_fault(path, position, (), message),)) from None
    reader = _Reader(path)
    try:
        reader.refuse_what_is_not_plain(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigurationError((phrase_fault(path, _position(mark), (), _problem(error)),)) from None
    except yaml.reader.ReaderError as error:
        position = (text.count("\n", 0, error.position) + 1, 1)
        message = f"not YAML: the character {chr(error.character)!r} is not allowed"
        raise ConfigurationError((phrase_fault(path, position, (), message),)) from None
    except (ValueError, OverflowError):  # PyYAML lets those of int() and chr() through
        message = "not YAML: an escaped character or a number is out of range"
        raise ConfigurationError((phrase_fault(path, (1, 1), (), message),)) from None
    content = reader.value_of(node, ()) if node else None
    if reader.faults:
        raise ConfigurationError(tuple(reader.faults))
    return YamlDocument(path=path, content=content, positions=reader.positions)


class _Reader:
    """Turns YAML nodes into plain values, noting positions and faults on the way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.positions: dict[KeyPath, tuple[int, int]] = {(): (1, 1)}
        self.faults: list[str] = []

    def refuse_what_is_not_plain(self, text: str) -> None:
        """Stop at anchors, aliases, tags and deep nesting before a tree is made of them."""
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                self._stop(event, "anchors and aliases are not supported; write the value out")
            if getattr(event, "tag", None):
                self._stop(event, "tags are not supported; write the value without one")
            if depth > MAX_DEPTH:
                self._stop(event, f"nested deeper than {MAX_DEPTH} levels")

    def _stop(self, event: yaml.Event, message: str) -> None:
        raise ConfigurationError((phrase_fault(self.path, _position(event.start_mark), (), message),))

    def value_of(self, node: yaml.Node, key_path: KeyPath) -> Any:  # noqa: ANN401 - YAML
        """The plain value of a node."""
        if isinstance(node, yaml.MappingNode):
            return self._mapping_of(node, key_path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item_of(item, (*key_path, index)) for index, item in enumerate(node.value)]
        match node.tag.rpartition(":")[2]:
            case "null":
                return None
            case "str" | "timestamp":
                return node.value
            case _:
                return Unquoted(node.value)

    def _item_of(self, node: yaml.Node, key_path: KeyPath) -> Any:  # noqa: ANN401 - YAML
        self.positions[key_path] = _position(node.start_mark)
        return self.value_of(node, key_path)

    def _mapping_of(self, node: yaml.MappingNode, key_path: KeyPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag != "tag:yaml.org,2002:str":
                wrong = f": '{key_node.value}'" if isinstance(key_node, yaml.ScalarNode) else ", not a collection"
                self._fault(key_node, key_path, f"expected a key in quotes{wrong}")
                continue
            key = key_node.value
            if key in mapping:
                self._fault(key_node, (*key_path, key), "stands here a second time")
                continue
            self.positions[*key_path, key] = _position(key_node.start_mark)
            mapping[key] = self.value_of(value_node, (*key_path, key))
        return mapping

    def _fault(self, node: yaml.Node, key_path: KeyPath, message: str) -> None:
        self.faults.append(phrase_fault(self.path, _position(node.start_mark), key_path, message))


def _problem(error: yaml.MarkedYAMLError) -> str:
    """What the parser was doing, since where, and what it met."""
    since = ":".join(map(str, _position(error.context_mark)))
    context = f"{error.context} from {since}, " if error.context_mark else ""
    return f"not YAML: {context}{error.problem}"


def _position(mark: Any) -> tuple[int, int]:  # noqa: ANN401
    """Line and column, from 1, of a yaml.Mark, whose C twin has no public name."""
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
