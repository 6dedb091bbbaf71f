"""A project's ``pyproject.toml``: its dependencies, where uv takes them from, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Final

import tomlkit
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tomlkit.items import AoT, Array, InlineTable, Table

from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.toml_tables import TomlTables, set_key
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, read_requirement

_OURS: Final = "wheelmill-"
"""The names of indexes that wheelmill adds begin with this."""
_INDEX_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
"""What uv allows in one."""


class Pyproject(TomlTables):
    """A project: what it depends on, what ``tool.uv`` says about where that is, and what wheelmill was asked for.

    https://docs.astral.sh/uv/concepts/indexes/#pinning-a-package-to-an-index
    """

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What ``project.dependencies`` says.

        Raises:
            UsageError: it cannot be read, or is computed when the project is built.
        """
        return tuple(requirement for _, requirement in self._dependencies())

    def requirement_on(self, project: ProjectName) -> Requirement | None:
        """The first of its dependencies on a project."""
        return next((each for each in self.requirements if canonicalize_name(each.name) == project), None)

    def pin(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Make pins the only dependencies on a project, and say where they come from."""
        self.depend(project, pins)
        self.draw_from(project, pins)

    def depend(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Make pins the only dependencies on a project, in the place of those that it had."""
        array = self._dependency_array()
        had = {place: found for place, found in self._dependencies() if canonicalize_name(found.name) == project}
        pins = [pin.in_place_of(list(had.values())) for pin in pins]
        places = list(had)
        for place in reversed(places[len(pins) :]):
            del array[place]
        for number, pin in enumerate(pins):
            if number < len(places):
                array[places[number]] = pin.dependency
            else:
                array.insert(places[-1] + 1 if places else len(array), pin.dependency)
                places.append(places[-1] + 1 if places else len(array) - 1)

    def drop(self, project: ProjectName) -> bool:
        """Take every dependency on a project away, and where uv was told to find it; False when there was none."""
        had = self.requirement_on(project) is not None
        if had:
            self.pin(project, [])
        return had

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Say which indexes have a project, and that they are for nothing else; pins of URLs have none."""
        key = self._source_key(project)
        indexed = [(pin, pin.index) for pin in pins if pin.index]
        if indexed:
            sources = self.make_table("tool", "uv", "sources")
            entries = [self._source_entry(pin, index) for pin, index in indexed]
            set_key(sources, key, entries[0] if len(entries) == 1 else entries)
        else:
            self.prune("tool", "uv", "sources", key)
        self._drop_unused_indexes()

    def has_source_by_hand(self, project: ProjectName) -> bool:
        """Whether somebody else said where a project comes from."""
        entries = _entries((self.table("tool", "uv", "sources") or {}).get(self._source_key(project), []))
        return any(not str(entry.get("index", "")).startswith(_OURS) for entry in entries)

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What ``tool.wheelmill.packages`` says was asked for, so that an update may take anything that fits it.

        It has the extras of the project's dependencies, too.

        Raises:
            UsageError: it is not a list of requirements.
        """
        table = self.table("tool", "wheelmill") or {}
        found = [requirement for _, requirement in self._parse("tool.wheelmill.packages", table.get("packages"))]
        for requirement in found:
            if dependency := self.requirement_on(canonicalize_name(requirement.name)):
                requirement.extras |= dependency.extras
        return tuple(found)

    def ask(self, requirements: Sequence[Requirement]) -> None:
        """Keep what was asked for; what was asked of the same projects before is replaced."""
        new = {canonicalize_name(each.name): str(each) for each in requirements}
        kept = {canonicalize_name(each.name): str(each) for each in self.asked}
        self._write_asked(list((kept | new).values()))

    def forget(self, project: ProjectName) -> None:
        """Keep no longer that a project was asked for."""
        if self.table("tool", "wheelmill") is not None:
            self._write_asked([str(each) for each in self.asked if canonicalize_name(each.name) != project])

    def _write_asked(self, texts: list[str]) -> None:
        array = tomlkit.array()
        array.extend(texts)
        if texts:
            self.make_table("tool", "wheelmill")["packages"] = array
        else:
            self.prune("tool", "wheelmill", "packages")

    def _dependency_array(self) -> Array:
        project = self.make_table("project")
        if "dependencies" in project.get("dynamic", ()):
            raise UsageError(
                f"{self.path}: project.dynamic: dependencies that are computed at build time cannot be changed",
                hint="list them under [project] dependencies",
            )
        if "dependencies" not in project:
            project["dependencies"] = tomlkit.array().multiline(multiline=True)
        dependencies = project["dependencies"]
        if not isinstance(dependencies, Array):
            raise UsageError(f"{self.path}: project.dependencies: expected a list of requirements")
        return dependencies

    def _dependencies(self) -> Iterator[tuple[int, Requirement]]:
        return self._parse("project.dependencies", (self.table("project") or {}).get("dependencies"))

    def _parse(self, key: str, texts: object) -> Iterator[tuple[int, Requirement]]:
        if not isinstance(texts, Array | list | None):
            raise UsageError(f"{self.path}: {key}: expected a list of requirements")
        for place, text in enumerate(texts or ()):
            try:
                yield place, read_requirement(str(text))
            except ValueError as error:
                raise UsageError(f"{self.path}: {key}[{place}]: {error}") from None

    def _source_key(self, project: ProjectName) -> str:
        """How a project is spelled where uv is told about it."""
        sources = self.table("tool", "uv", "sources") or {}
        return next((key for key in sources if canonicalize_name(key) == project), project)

    def _source_entry(self, pin: Pin, index: Index) -> InlineTable:
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
        uv = self.make_table("tool", "uv")
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
        indexes = (self.table("tool", "uv") or {}).get("index", [])
        if not isinstance(indexes, list) or not all(isinstance(index, MutableMapping) for index in indexes):
            raise UsageError(f"{self.path}: tool.uv.index: expected an array of tables")
        return indexes

    def _drop_unused_indexes(self) -> None:
        """Remove explicit indexes of ours that nothing is taken from any more."""
        sources = (self.table("tool", "uv", "sources") or {}).values()
        used = {entry.get("index") for source in sources for entry in _entries(source)}
        indexes = self._indexes()
        for place in reversed(range(len(indexes))):
            index = indexes[place]
            if index.get("explicit") and str(index.get("name")).startswith(_OURS) and index["name"] not in used:
                del indexes[place]  # type: ignore[attr-defined]  # tomlkit's arrays are lists
        if not indexes:
            self.prune("tool", "uv", "index")


def _entries(source: Any) -> list[MutableMapping[str, Any]]:  # noqa: ANN401 - TOML
    """A source is one table, or one for each marker."""
    return source if isinstance(source, list) else [source]
