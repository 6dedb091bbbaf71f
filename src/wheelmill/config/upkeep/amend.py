"""Changing single values of a YAML file that people write: comments and layout stay as they are."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from wheelmill.config.annotations import KeyPath, Unquoted
from wheelmill.config.document import parse_document, read_document, refusal
from wheelmill.errors import ConfigurationError
from wheelmill.system.files import write_bytes

Edit = tuple[int, int, str]
"""Where a piece of text starts and ends, and what takes its place."""


def amend(path: Path, values: Mapping[KeyPath, Any]) -> None:
    """Set values and keep every other byte.

    A value that is there is replaced where it stands, a mapping with the comments in it; a list must stand in brackets.
    A key that is not there is added below the others of its mapping, with keys and values of its own or with a single
    value, which may also stand in brackets.

    Raises:
        ConfigurationError: the file cannot be read, or would not say just this afterwards; then it stays as it was.
    """
    document = read_document(path)
    text = path.read_bytes().decode()
    with suppress(ConfigurationError, yaml.YAMLError):  # it would be no file of ours, or only libyaml reads it
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        amended = _apply(text, [_edit(text, root, key_path, value) for key_path, value in values.items()]).encode()
        if parse_document(path, amended).content == _with_values(document.content, values):
            write_bytes(path, amended)
            return
    raise refusal(path, "cannot be changed in place; nothing was written")


def _edit(text: str, root: yaml.MappingNode, key_path: KeyPath, value: Any) -> Edit:  # noqa: ANN401 - YAML
    *parents, last = key_path
    mapping = root
    for key in parents:
        mapping = _children(mapping)[key]
    if (node := _children(mapping).get(last)) and isinstance(value, dict) and not node.flow_style:
        lines = _lines(value, "\n" + " " * node.start_mark.column)
        return node.start_mark.index, _end_of_line(text, node), lines.lstrip()
    if node:
        written = value if isinstance(value, str) and node.style is None else _flow(value)
        return node.start_mark.index, node.end_mark.index, written
    single = "" if isinstance(value, dict) else f"{last}: {_flow(value)}"
    if single and mapping.flow_style and mapping.value:
        return mapping.end_mark.index - 1, mapping.end_mark.index, f", {single}}}"
    if mapping.value:
        start = end = _end_of_line(text, mapping)
        column = mapping.value[-1][0].start_mark.column
    else:  # {}, which the first key replaces
        start, end = len(text[: mapping.start_mark.index].rstrip(" ")), mapping.end_mark.index
        column = 2 * len(parents)
    indent = "\n" + " " * column
    if single:
        return start, end, f"{indent}{single}"
    return start, end, f"{indent}{json.dumps(last)}:{_lines(value, f'{indent}  ')}"


def entry_text(name: str, entry: Mapping[str, Any]) -> str:
    """What `amend` writes of an entry."""
    return f"  {json.dumps(name)}:{_lines(entry, chr(10) + ' ' * 4)}"


def _lines(mapping: Mapping[str, Any], indent: str) -> str:
    """Keys and values, a line each, with what each of them begins with."""
    return "".join(f"{indent}{key}: {_flow(item)}" for key, item in mapping.items())


def _children(mapping: yaml.MappingNode) -> dict[str | int, Any]:
    return {key.value: value for key, value in mapping.value}


def _end_of_line(text: str, node: yaml.Node) -> int:
    """Where the last line of a mapping ends: its own end mark lies behind the comments that follow it."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    end = text.find("\n", node.end_mark.index)
    return len(text) if end < 0 else end


def _flow(value: Any) -> str:  # noqa: ANN401 - YAML
    """A value on one line, text in quotes."""
    if isinstance(value, Unquoted):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def _apply(text: str, edits: list[Edit]) -> str:
    pieces = []
    done = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _with_values(content: Any, values: Mapping[KeyPath, Any]) -> Any:  # noqa: ANN401 - YAML
    changed = copy.deepcopy(content)
    for (*parents, last), value in values.items():
        mapping = changed
        for key in parents:
            mapping = mapping[key]
        mapping[last] = value
    return changed
