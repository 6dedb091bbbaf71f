"""TOML files of users, edited in place: comments and the order of everything else stay."""

from __future__ import annotations

import json
from collections.abc import MutableMapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table
from tomlkit.toml_document import TOMLDocument

from wheelmill.errors import UsageError
from wheelmill.system.files import read_bounded

_MARK: Final = "\ufeff"
"""Byte order mark that some editors write before the first line; uv reads such files."""


class TomlTables:
    """TOML document, read and edited in memory; the caller writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._document = tomlkit.document()
        self._line_end = "\n"
        self._mark = ""
        self._before = ""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; a missing one is an empty document."""
        try:
            text = read_bounded(path).decode()
            mark = _MARK if text.startswith(_MARK) else ""
            line_end = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
            tables = cls(path)
            tables._load(text.removeprefix(mark).replace(line_end, "\n"))
        except FileNotFoundError:
            return cls(path)
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise UsageError("not-toml", f"{path} is not TOML: {error}") from None
        tables._line_end, tables._mark = line_end, mark
        return tables

    def _load(self, text: str) -> None:
        self._before = self._toml_in(text)
        self._document = tomlkit.parse(self._before)

    def _toml_in(self, text: str) -> str:
        """Return the TOML of a file; only a script has more than that."""
        return text

    def _wrap(self, text: str) -> str:
        """Return the content of the file with its new TOML."""
        return text

    @property
    def text(self) -> str:
        """The new content of the file, if it reads as the document: tomlkit moves some additions among dotted keys."""
        text = self._wrap(_space_headings(tomlkit.dumps(self._document), self._before))
        try:
            is_true = _comparable(tomlkit.parse(self._toml_in(text))) == _comparable(self._document)
        except TOMLKitError:
            is_true = False
        if not is_true:
            raise self.unchangeable
        return self._mark + text.replace("\n", self._line_end)

    def table(self, *keys: str) -> MutableMapping[str, Any] | None:
        """The table under some keys; None if there is none."""
        table: Any = self._document
        for depth, key in enumerate(keys, 1):
            table = table.get(key)
            if table is None:
                return None
            if not isinstance(table, MutableMapping):
                raise UsageError("table-invalid", f"{self.path}: {'.'.join(keys[:depth])}: expected a table")
        return table  # type: ignore[no-any-return]  # tomlkit's containers are mappings

    def array_of_tables(self, *keys: str) -> list[MutableMapping[str, Any]]:
        """The array of tables under some keys; empty if there is none."""
        tables = (self.table(*keys[:-1]) or {}).get(keys[-1], [])
        if not isinstance(tables, list) or not all(isinstance(each, MutableMapping) for each in tables):
            raise UsageError("table-invalid", f"{self.path}: {'.'.join(keys)}: expected an array of tables")
        return tables

    def make_table(self, *keys: str) -> MutableMapping[str, Any]:
        """Return the table under some keys, creating it if it is missing."""
        here: MutableMapping[str, Any] = self._document
        for depth, key in enumerate(keys, 1):
            if self.table(*keys[:depth]) is None:
                if isinstance(here, InlineTable):
                    raise self.unchangeable
                here[key] = tomlkit.table(is_super_table=depth < len(keys))
            here = here[key]
        return here

    @property
    def unchangeable(self) -> UsageError:
        """The error for an addition that tomlkit cannot write in place."""
        return UsageError(
            "toml-form-unsupported",
            f"{self.path} cannot be changed as it is written: "
            "a table that wheelmill adds to stands in dotted keys, in braces or in several places",
            hint="write it in one place, under a heading of its own such as [tool.uv]",
        )

    def prune(self, *keys: str) -> None:
        """Remove a key, and the tables around it that become empty."""
        for depth in range(len(keys), 0, -1):
            around = self.table(*keys[: depth - 1]) if depth > 1 else self._document
            if around is None:
                continue
            if depth == len(keys):
                around.pop(keys[-1], None)
            elif keys[depth - 1] in around and not around[keys[depth - 1]]:
                del around[keys[depth - 1]]


def _comparable(document: TOMLDocument) -> str:
    """Return a document's values as text, because TOML's NaN does not equal itself."""
    return json.dumps(document.unwrap(), sort_keys=True, default=repr)


def set_key(table: MutableMapping[str, Any], key: str, value: object) -> None:
    """Set a key; a new one goes below the last key, above any comment of the next table."""
    body = table.value.body if isinstance(table, Table) and key not in table else []
    below = []
    while body and body[-1][0] is None:
        below.append(body.pop())
    table[key] = value
    body.extend(reversed(below))


def _space_headings(text: str, before: str) -> str:
    """Put one blank line above each new heading and each that had one, and none at the end."""
    if text.endswith("\n\n") and not before.endswith("\n\n"):
        text = text.rstrip("\n") + "\n"
    had, lines = {*pairwise(before.split("\n"))}, list[str]()
    tight = {line for above, line in had if above}
    for above, line in pairwise(["", *text.split("\n")]):
        if above and line.startswith("[") and line not in tight:
            lines.append("")
        if above or line or not lines or (above, line) in had:
            lines.append(line)
    return "\n".join(lines)


def entries_of(source: object) -> list[MutableMapping[str, Any]]:
    """List the tables of a source: one, or one for each marker; a bare version has none."""
    return [each for each in listed(source) if isinstance(each, MutableMapping)]


def listed(value: object) -> Sequence[Any]:
    """Return a value that may be a list or one item of it; empty if it is missing."""
    return value if isinstance(value, list) else [] if value is None else [value]
