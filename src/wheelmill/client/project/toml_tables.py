"""Editing a TOML file that a person wrote: comments and the order of everything else stay."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, Self

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table
from tomlkit.toml_document import TOMLDocument

from wheelmill.client.install.distributions import read_start
from wheelmill.errors import UsageError

_MAX_TOML: Final = 1 << 20
"""Bytes of a file, which take tomlkit two seconds."""
_MARK: Final = "\ufeff"
"""What some editors write before the first line of UTF-8; uv reads such files."""


class TomlTables:
    """A document that is read and changed in memory; the caller writes it."""

    def __init__(self, path: Path, document: TOMLDocument) -> None:
        self.path = path
        self._document = document
        self._line_end = "\n"
        self._mark = ""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; one that is not there is an empty document.

        Raises:
            UsageError: it is not TOML, or larger than any that people write.
        """
        try:
            content = read_start(path, _MAX_TOML)
            if len(content) > _MAX_TOML:
                raise UsageError("file-too-large", f"{path} has more than {_MAX_TOML} bytes")
            text = content.decode()
            mark = _MARK if text.startswith(_MARK) else ""
            line_end = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
            found = cls(path, tomlkit.parse(text.removeprefix(mark).replace(line_end, "\n")))
        except FileNotFoundError:
            return cls.empty(path)
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise UsageError("not-toml", f"{path} is not TOML: {error}") from None
        found._line_end, found._mark = line_end, mark
        return found

    @classmethod
    def empty(cls, path: Path) -> Self:
        """A file that is not there yet."""
        return cls(path, tomlkit.document())

    @property
    def text(self) -> str:
        """The file as it is to be, with the byte order mark and the ends of lines that it had.

        Raises:
            UsageError: it would say something else than the document: tomlkit writes some of what is new into other
                tables where there are dotted keys.
        """
        text = tomlkit.dumps(self._document)
        try:
            is_true = _comparable(tomlkit.parse(text)) == _comparable(self._document)
        except TOMLKitError:
            is_true = False
        if not is_true:
            raise self.unchangeable
        return self._mark + text.replace("\n", self._line_end)

    def table(self, *keys: str) -> MutableMapping[str, Any] | None:
        """The table under some keys; None when there is none.

        Raises:
            UsageError: something else is there.
        """
        found: Any = self._document
        for depth, key in enumerate(keys, 1):
            found = found.get(key)
            if found is None:
                return None
            if not isinstance(found, MutableMapping):
                raise UsageError("table-invalid", f"{self.path}: {'.'.join(keys[:depth])}: expected a table")
        return found  # type: ignore[no-any-return]  # tomlkit's containers are mappings

    def make_table(self, *keys: str) -> MutableMapping[str, Any]:
        """The table under some keys, made where it is missing."""
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
        """The error where tomlkit cannot write what is new into its place."""
        return UsageError(
            "toml-form-unsupported",
            f"{self.path} cannot be changed as it is written: "
            "a table that wheelmill adds to stands in dotted keys, in braces or in several places",
            hint="write it in one place, under a heading of its own such as [tool.uv]",
        )

    def prune(self, *keys: str) -> None:
        """Remove a key, and the tables around it that it leaves empty."""
        for depth in range(len(keys), 0, -1):
            around = self.table(*keys[: depth - 1]) if depth > 1 else self._document
            if around is None:
                continue
            if depth == len(keys):
                around.pop(keys[-1], None)
            elif keys[depth - 1] in around and not around[keys[depth - 1]]:
                del around[keys[depth - 1]]


def _comparable(document: TOMLDocument) -> str:
    """The values of a document as text that equals itself: NaN, which TOML has, does not."""
    return json.dumps(document.unwrap(), sort_keys=True, default=repr)


def set_key(table: MutableMapping[str, Any], key: str, value: object) -> None:
    """Set a key; a new one stands right below the last, not below the comment that belongs to the next table."""
    body = table.value.body if isinstance(table, Table) and key not in table else []
    below = []
    while body and body[-1][0] is None:
        below.append(body.pop())
    table[key] = value
    body.extend(reversed(below))
