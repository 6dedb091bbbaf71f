"""The tables of tools that say where a project's dependencies come from.

https://docs.astral.sh/uv/concepts/indexes/#pinning-a-package-to-an-index
https://python-poetry.org/docs/repositories/#explicit-package-sources
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import tomlkit
from packaging.utils import canonicalize_name
from tomlkit.items import AoT, InlineTable, Table

from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.project.toml_tables import set_key
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName

OURS: Final = "wheelmill-"
"""The names of indexes that wheelmill adds begin with this."""
_PLACES: Final = frozenset(("index", "source", "url", "git", "path", "file", "workspace"))
"""The keys that say where a dependency comes from; Poetry has its version and extras in the same table."""
_INDEX_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
"""What uv allows in one."""


class IndexTables(Pyproject):
    """A ``pyproject.toml`` that names indexes in one table, and in another what comes from which."""

    index_keys: ClassVar[tuple[str, ...]]
    """The table with the indexes."""
    source_keys: ClassVar[tuple[str, ...]]
    """The table that maps dependencies to indexes."""
    source_word: ClassVar[str]
    """The key that names the index there."""
    marker_word: ClassVar[str]
    """The key of a marker there."""
    explicit: ClassVar[Mapping[str, object]]
    """The setting of an index that is used only for dependencies that name it."""

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Say which indexes have a project, and that they are for nothing else; pins of URLs have none."""
        key = self._source_key(project)
        indexed = [(pin, pin.index) for pin in pins if pin.index]
        if indexed:
            sources = self.make_table(*self.source_keys)
            entries = [self._source_entry(pin, index) for pin, index in indexed]
            set_key(sources, key, entries[0] if len(entries) == 1 else entries)
        else:
            self.prune(*self.source_keys, key)
        self._drop_unused_indexes()

    def has_source_by_hand(self, project: ProjectName) -> bool:
        """Whether somebody else has set where a project comes from."""
        entries = _entries((self.table(*self.source_keys) or {}).get(self._source_key(project), []))
        places = [entry for entry in entries if _PLACES & entry.keys()]
        return any(not str(entry.get(self.source_word, "")).startswith(OURS) for entry in places)

    def _source_key(self, project: ProjectName) -> str:
        """How a project is spelled where uv is told about it."""
        sources = self.table(*self.source_keys) or {}
        return next((key for key in sources if canonicalize_name(key) == project), project)

    def _source_entry(self, pin: Pin, index: Index) -> InlineTable:
        entry = tomlkit.inline_table()
        entry[self.source_word] = self._index_named(index)
        if pin.marker:
            entry[self.marker_word] = pin.marker
        return entry

    def _index_named(self, wanted: Index) -> str:
        """The name of the index with a URL, which is added where it is missing or, as uv allows, has none."""
        indexes = self._indexes()
        for index in indexes:
            if "name" in index and str(index.get("url", "")).rstrip("/") == wanted.url.rstrip("/"):
                return str(index["name"])
        words = "".join(c if c in _INDEX_NAME else " " for c in wanted.name.lower()).split()
        name = "-".join(words)
        taken = {str(index.get("name")) for index in indexes}
        free = next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        around, key = self.make_table(*self.index_keys[:-1]), self.index_keys[-1]
        if key not in around:
            around[key] = tomlkit.aot()
        added: Table | InlineTable
        if isinstance(around[key], AoT):
            added = tomlkit.table()
            above = around[key] or around
            is_apart = isinstance(above, AoT | Table) and above.as_string().endswith("\n\n")
            added.trivia.indent = "" if is_apart else "\n"
        else:
            added = tomlkit.inline_table()
        added.update({"name": free, "url": wanted.url, **self.explicit})
        around[key].append(added)
        if all(index.get("name") != free for index in self._indexes()):  # it went into a copy
            raise self.unchangeable
        return free

    def _indexes(self) -> Sequence[MutableMapping[str, Any]]:
        indexes = (self.table(*self.index_keys[:-1]) or {}).get(self.index_keys[-1], [])
        if not isinstance(indexes, list) or not all(isinstance(index, MutableMapping) for index in indexes):
            raise UsageError("table-invalid", f"{self.path}: {'.'.join(self.index_keys)}: expected an array of tables")
        return indexes

    def _drop_unused_indexes(self) -> None:
        """Remove indexes that wheelmill added and nothing uses any more."""
        sources = (self.table(*self.source_keys) or {}).values()
        used = {entry.get(self.source_word) for source in sources for entry in _entries(source)}
        indexes = self._indexes()
        for place in reversed(range(len(indexes))):
            index = indexes[place]
            ours = str(index.get("name")).startswith(OURS) and index.items() >= self.explicit.items()
            if ours and index["name"] not in used:
                del indexes[place]  # type: ignore[attr-defined]  # tomlkit's arrays are lists
        if not indexes:
            self.prune(*self.index_keys)


class UvPyproject(IndexTables):
    """A ``pyproject.toml`` that uv reads."""

    names_indexes = True
    index_keys = ("tool", "uv", "index")
    source_keys = ("tool", "uv", "sources")
    source_word = "index"
    marker_word = "marker"
    explicit = MappingProxyType({"explicit": True})


def _entries(source: Any) -> list[MutableMapping[str, Any]]:  # noqa: ANN401 - TOML
    """A source is one table, or one for each marker; a bare version is none."""
    return [each for each in (source if isinstance(source, list) else [source]) if isinstance(each, MutableMapping)]
