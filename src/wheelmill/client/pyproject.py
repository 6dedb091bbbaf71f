"""A project's ``pyproject.toml``, changed where it must be: every comment and the order of the rest stay."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable
from tomlkit.toml_document import TOMLDocument

from wheelmill.client.pins import Pin
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName

_INDEX_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
"""What uv allows in one."""


class Pyproject:
    """A document that is read, changed in memory, and written by whoever asked for the changes."""

    def __init__(self, path: Path, document: TOMLDocument) -> None:
        self.path = path
        self._document = document

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; one that is not there is an empty document.

        Raises:
            UsageError: it is not TOML.
        """
        try:
            return cls(path, tomlkit.parse(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls.empty(path)
        except (TOMLKitError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is not TOML: {error}") from None

    @classmethod
    def empty(cls, path: Path) -> Self:
        """A file that is not there yet."""
        return cls(path, tomlkit.document())

    @property
    def text(self) -> str:
        """The document as it is now."""
        return tomlkit.dumps(self._document)

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
                raise UsageError(f"{self.path}: {'.'.join(keys[:depth])}: expected a table")
        return found  # type: ignore[no-any-return]  # tomlkit's containers are mappings

    def make_table(self, *keys: str) -> MutableMapping[str, Any]:
        """The table under some keys, made where it is missing."""
        here: MutableMapping[str, Any] = self._document
        for depth, key in enumerate(keys, 1):
            if self.table(*keys[:depth]) is None:
                here[key] = tomlkit.table(is_super_table=depth < len(keys))
            here = here[key]
        return here

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
        """Make pins the only dependencies on a project, in the place of those that it had."""
        array = self._dependency_array()
        places = [place for place, found in self._dependencies() if canonicalize_name(found.name) == project]
        for place in reversed(places[len(pins) :]):
            del array[place]
        for number, pin in enumerate(pins):
            if number < len(places):
                array[places[number]] = pin.dependency
            else:
                array.insert(places[-1] + 1 if places else len(array), pin.dependency)
                places.append(places[-1] + 1 if places else len(array) - 1)
        self._draw_from(project, [pin for pin in pins if pin.index])

    def drop(self, project: ProjectName) -> bool:
        """Take every dependency on a project away, and where uv was told to find it; False when there was none."""
        had = self.requirement_on(project) is not None
        if had:
            self.pin(project, [])
        return had

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What ``tool.wheelmill.packages`` says was asked for, so that an update may take anything that fits it.

        Raises:
            UsageError: it is not a list of requirements.
        """
        table = self.table("tool", "wheelmill") or {}
        return tuple(requirement for _, requirement in self._parsed("tool.wheelmill.packages", table.get("packages")))

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
            self._prune("tool", "wheelmill", "packages")

    def _dependency_array(self) -> Array:
        project = self.make_table("project")
        if "dependencies" in project.get("dynamic", ()):
            raise UsageError(
                f"{self.path}: project.dynamic: its dependencies are computed when it is built",
                hint="list them under [project] dependencies",
            )
        if "dependencies" not in project:
            project["dependencies"] = tomlkit.array().multiline(multiline=True)
        dependencies = project["dependencies"]
        if not isinstance(dependencies, Array):
            raise UsageError(f"{self.path}: project.dependencies: expected a list of requirements")
        return dependencies

    def _dependencies(self) -> Iterator[tuple[int, Requirement]]:
        return self._parsed("project.dependencies", (self.table("project") or {}).get("dependencies"))

    def _parsed(self, key: str, texts: object) -> Iterator[tuple[int, Requirement]]:
        if not isinstance(texts, Array | list | None):
            raise UsageError(f"{self.path}: {key}: expected a list of requirements")
        for place, text in enumerate(texts or ()):
            try:
                yield place, Requirement(str(text))
            except InvalidRequirement as error:
                raise UsageError(f"{self.path}: {key}[{place}]: {error}") from None

    def _draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Tell uv which index has a project, and that this index is for nothing else."""
        key = self._source_key(project)
        if pins:
            sources = self.make_table("tool", "uv", "sources")
            entries = [self._source_entry(pin) for pin in pins]
            sources[key] = entries[0] if len(entries) == 1 else entries
        else:
            self._prune("tool", "uv", "sources", key)
        self._drop_unused_indexes()

    def _source_entry(self, pin: Pin) -> InlineTable:
        entry = tomlkit.inline_table()
        entry["index"] = self._index_named(pin)
        if pin.marker:
            entry["marker"] = pin.marker
        return entry

    def _source_key(self, project: ProjectName) -> str:
        """How a project is spelled where uv is told about it."""
        sources = self.table("tool", "uv", "sources") or {}
        return next((key for key in sources if canonicalize_name(key) == project), project)

    def _index_named(self, pin: Pin) -> str:
        """The name of the index with a pin's URL, which is added where it is missing."""
        assert pin.index is not None  # noqa: S101 - the caller chose those that have one
        indexes = self._indexes()
        for index in indexes:
            if str(index.get("url", "")).rstrip("/") == pin.index.url.rstrip("/"):
                return str(index["name"])
        words = "".join(c if c in _INDEX_NAME else " " for c in pin.index.name.lower()).split()
        name = "-".join(words)
        taken = {str(index.get("name")) for index in indexes}
        free = next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)
        added = tomlkit.table()
        added.update({"name": free, "url": pin.index.url, "explicit": True})
        uv = self.make_table("tool", "uv")
        if "index" not in uv:
            added.trivia.indent = "\n"  # else it stands right below the sources
            uv["index"] = tomlkit.aot()
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
        entries = [entry for source in sources for entry in (source if isinstance(source, list) else [source])]
        used = {entry.get("index") for entry in entries}
        indexes = self._indexes()
        for place in reversed(range(len(indexes))):
            index = indexes[place]
            if index.get("explicit") and str(index.get("name")).startswith("wheelmill-") and index["name"] not in used:
                del indexes[place]  # type: ignore[attr-defined]  # tomlkit's arrays are lists
        if not indexes:
            self._prune("tool", "uv", "index")

    def _prune(self, *keys: str) -> None:
        """Remove a key, and the tables around it that it leaves empty."""
        for depth in range(len(keys), 0, -1):
            around = self.table(*keys[: depth - 1]) if depth > 1 else self._document
            if around is None:
                continue
            if depth == len(keys):
                around.pop(keys[-1], None)
            elif keys[depth - 1] in around and not around[keys[depth - 1]]:
                del around[keys[depth - 1]]
