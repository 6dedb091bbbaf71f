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


def refusal(path: Path, message: str, position: tuple[int, int] = (1, 1), key_path: KeyPath = ()) -> ConfigurationError:
    """The error that one fault ends the reading of a file with."""
    return ConfigurationError((phrase_fault(path, position, key_path, message),))


def read_document(path: Path) -> YamlDocument:
    """Read a YAML file.

    Raises:
        ConfigurationError: it is missing or not in the subset; with every fault found up to the first one that hides
            what follows it.
    """
    try:
        with path.open("rb") as file:
            return parse_document(path, file.read(MAX_BYTES + 1))
    except OSError as error:
        raise refusal(path, f"cannot be read in {path.parent}: {error.strerror}") from None


def parse_document(path: Path, content: bytes) -> YamlDocument:
    """Read what a YAML file has or would have, as `read_document`."""
    if len(content) > MAX_BYTES:
        raise refusal(path, f"larger than {MAX_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refusal(path, f"not UTF-8: byte {content[error.start]:#04x}", (line, 1)) from None
    reader = _Reader(path)
    try:
        reader.refuse_what_is_not_plain(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise refusal(path, _problem(error), _position(error.problem_mark or error.context_mark)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not YAML: the character {chr(error.character)!r} is not allowed"
        raise refusal(path, message, (line, 1)) from None
    except (ValueError, OverflowError):  # PyYAML lets those of int() and chr() through
        raise refusal(path, "not YAML: an escaped character or a number is out of range") from None
    plain = reader.value_of(node, ()) if node else None
    if reader.faults:
        raise ConfigurationError(tuple(reader.faults))
    return YamlDocument(path=path, content=plain, positions=reader.positions)


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
                message = "anchors and aliases are not supported; write the value out"
            elif getattr(event, "tag", None):
                message = "tags are not supported; write the value without one"
            elif depth > MAX_DEPTH:
                message = f"nested deeper than {MAX_DEPTH} levels"
            else:
                continue
            raise refusal(self.path, message, _position(event.start_mark))

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
