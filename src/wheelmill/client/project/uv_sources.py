"""Where uv is told to take packages from: ``tool.uv.sources`` and ``tool.uv.index`` of a ``pyproject.toml``.

https://docs.astral.sh/uv/concepts/indexes/#pinning-a-package-to-an-index
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tomlkit
from packaging.utils import canonicalize_name
from tomlkit.items import AoT, InlineTable, Table

from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.toml_tables import TomlTables, set_key
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName

_OURS: Final = "wheelmill-"
"""The names of indexes that wheelmill adds begin with this."""
_INDEX_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
"""What uv allows in one."""


@dataclass(frozen=True)
class UvSources:
    """What a document tells uv about where packages are."""

    document: TomlTables

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Say which indexes have a project, and that they are for nothing else; pins of URLs have none."""
        key = self._key(project)
        indexed = [(pin, pin.index) for pin in pins if pin.index]
        if indexed:
            sources = self.document.make_table("tool", "uv", "sources")
            entries = [self._entry(pin, index) for pin, index in indexed]
            set_key(sources, key, entries[0] if len(entries) == 1 else entries)
        else:
            self.document.prune("tool", "uv", "sources", key)
        self._drop_unused_indexes()

    def is_set_by_hand(self, project: ProjectName) -> bool:
        """Whether somebody else said where a project comes from."""
        entries = _entries((self.document.table("tool", "uv", "sources") or {}).get(self._key(project), []))
        return any(not str(entry.get("index", "")).startswith(_OURS) for entry in entries)

    def _key(self, project: ProjectName) -> str:
        """How a project is spelled where uv is told about it."""
        sources = self.document.table("tool", "uv", "sources") or {}
        return next((key for key in sources if canonicalize_name(key) == project), project)

    def _entry(self, pin: Pin, index: Index) -> InlineTable:
        entry = tomlkit.inline_table()
        entry["index"] = self._index_named(index)
        if pin.marker:
            entry["marker"] = pin.marker
        return entry

    def _index_named(self, wanted: Index) -> str:
        """The name of the index with a URL, which is added where it is missing."""
        indexes = self._indexes()
        for index in indexes:
            if str(index.get("url", "")).rstrip("/") == wanted.url.rstrip("/"):
                return str(index["name"])
        words = "".join(c if c in _INDEX_NAME else " " for c in wanted.name.lower()).split()
        name = "-".join(words)
        taken = {str(index.get("name")) for index in indexes}
        free = next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        uv = self.document.make_table("tool", "uv")
        if "index" not in uv:
            uv["index"] = tomlkit.aot()
        added: Table | InlineTable
        if isinstance(uv["index"], AoT):
            added = tomlkit.table()
            added.trivia.indent = "\n"  # else it stands right below what is before it
        else:
            added = tomlkit.inline_table()
        added.update({"name": free, "url": wanted.url, "explicit": True})
        uv["index"].append(added)
        return free

    def _indexes(self) -> Sequence[MutableMapping[str, Any]]:
        indexes = (self.document.table("tool", "uv") or {}).get("index", [])
        if not isinstance(indexes, list) or not all(isinstance(index, MutableMapping) for index in indexes):
            raise UsageError(f"{self.document.path}: tool.uv.index: expected an array of tables")
        return indexes

    def _drop_unused_indexes(self) -> None:
        """Remove explicit indexes of ours that nothing is taken from any more."""
        sources = (self.document.table("tool", "uv", "sources") or {}).values()
        used = {entry.get("index") for source in sources for entry in _entries(source)}
        indexes = self._indexes()
        for place in reversed(range(len(indexes))):
            index = indexes[place]
            if index.get("explicit") and str(index.get("name")).startswith(_OURS) and index["name"] not in used:
                del indexes[place]  # type: ignore[attr-defined]  # tomlkit's arrays are lists
        if not indexes:
            self.document.prune("tool", "uv", "index")


def _entries(source: Any) -> list[MutableMapping[str, Any]]:  # noqa: ANN401 - TOML
    """A source is one table, or one for each marker."""
    return source if isinstance(source, list) else [source]
