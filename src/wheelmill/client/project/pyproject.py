"""A project's ``pyproject.toml``, edited in place: its dependencies (PEP 621), and the tool's indexes for them.

https://docs.astral.sh/uv/concepts/indexes/#pinning-a-package-to-an-index
https://python-poetry.org/docs/repositories/#explicit-package-sources
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Final

import tomlkit
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tomlkit.items import AoT, Array, InlineTable

from wheelmill.client.lock.pins import Index, Pin, replace_by_marker, replace_dependencies
from wheelmill.client.project.toml_tables import TomlTables, entries_of, set_key
from wheelmill.client.records import Links
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, ProjectName, read_requirement

PROJECT_LIST: Final = ("project", "dependencies")
EXTRAS: Final = ("project", "optional-dependencies")
"""Table of lists."""
GROUPS: Final = ("dependency-groups",)
"""Table of lists (PEP 735)."""


class PyprojectEditor(TomlTables):
    """Project's dependencies, and its requests to wheelmill; tools with further settings have subclasses."""

    names_indexes: ClassVar[bool] = False
    """True if it can name an index for one dependency; otherwise every wheel is named by its URL."""
    has_project_table: ClassVar[bool] = True
    """False if the file has its keys at the top."""
    list_keys: tuple[str, ...] = PROJECT_LIST
    """The list that gets a dependency which stands in none yet."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements in ``project.dependencies``, in extras and in dependency groups."""
        return tuple(requirement for _, _, requirement in self._dependencies())

    @property
    def lists(self) -> dict[ProjectName, tuple[str, ...]]:
        """The list of each dependency; a chosen group has those of groups that it includes."""
        known, inside = self.table(*GROUPS) or {}, [self.list_keys]
        for keys in inside:
            entries = entries_of(known.get(keys[-1]) if keys[:-1] == GROUPS else None)
            inside += {(*GROUPS, str(each.get("include-group"))) for each in entries} - {*inside}
        named = ((each.name, self.list_keys if keys in inside else keys) for keys, _, each in self._dependencies())
        return {canonicalize_name(name): (*keys[:-1], canonicalize_name(keys[-1])) for name, keys in named}

    def choose_list(self, keys: tuple[str, ...]) -> None:
        """Write new dependencies into a list, which need not exist yet."""
        *table, name = keys
        known = {canonicalize_name(key): key for key in self.table(*table) or ()}
        self.list_keys = (*table, known.get(canonicalize_name(name), name))

    def pin(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Replace dependencies on a project, and its sources, by pins and their indexes."""
        self.depend(project, pins)
        self.draw_from(project, [replace(pin, marker=None) for pin in pins] if len(pins) == 1 else pins)

    def depend(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Replace the dependencies on a project for the targets of pins, in the same place."""
        self.write_dependencies(project, replace_dependencies(self.dependencies_on(project), pins))

    def dependencies_on(self, project: ProjectName) -> list[str]:
        """The dependencies on a project, as written."""
        array, places = self._list_with(project)
        return [str(array[place]) for place in places]

    def write_dependencies(self, project: ProjectName, texts: Sequence[str]) -> None:
        """Replace all dependencies on a project by texts, in the same place."""
        array, places = self._list_with(project)
        for place in reversed(places[len(texts) :]):
            del array[place]
        for number, text in enumerate(texts):
            if number < len(places):
                array[places[number]] = text
            else:
                place = places[-1] + 1 if places else len(array)
                _insert(array, place, text)
                places.append(place)

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Name a project's indexes, for this project only; PEP 621 has no field for that."""

    def has_source_by_hand(self, project: ProjectName, pins: Sequence[Pin]) -> bool:  # noqa: ARG002 - for tools that have sources
        """True if the user set a project's source for a target of pins."""
        return False

    def ask_torch(self, asked: Requirement) -> None:
        """Depend on torch as the user asks; a bare name leaves an existing dependency as it is."""
        had = self.torch_by_hand
        if had and not asked.specifier:
            return
        self.depend(TORCH, [Pin(requirement=str(asked))])
        if "torch-was" in (self.table("tool", "wheelmill") or {}):
            self.make_table("tool", "wheelmill")["torch-was"] = self.dependencies_on(TORCH)

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requests in ``tool.wheelmill.packages``, for updates, with the extras of dependencies."""
        table = self.table("tool", "wheelmill") or {}
        requests = [requirement for _, requirement in self._parse("tool.wheelmill.packages", table.get("packages"))]
        extras = {canonicalize_name(each.name): each.extras for each in reversed(self.requirements)}
        for requirement in requests:
            requirement.extras |= extras.get(canonicalize_name(requirement.name), set())
        return tuple(requests)

    @property
    def source_urls(self) -> Mapping[str, str]:
        """The URLs that uv's sources give for dependencies."""
        sources = self.table("tool", "uv", "sources") or {}
        return {name: str(entry.get("url", "")) for name in sources for entry in entries_of(sources[name])}

    def ask(self, requirements: Sequence[Requirement]) -> None:
        """Record requests, replacing earlier ones for the same projects."""
        new = {canonicalize_name(each.name): str(each) for each in requirements}
        kept = {canonicalize_name(each.name): str(each) for each in self.asked}
        self._record("packages", list((kept | new).values()))

    @property
    def links(self) -> Links:
        """The record of wheels that others require: ``a requires b``."""
        texts = (self.table("tool", "wheelmill") or {}).get("required", [])
        words = [str(text).split(" requires ") for text in texts if isinstance(texts, list)]
        return frozenset((canonicalize_name(each[0]), canonicalize_name(each[1])) for each in words if each[1:])

    def link(self, links: Links) -> None:
        """Replace that record, and remove the pins of wheels that no other one requires any longer."""
        kept = {project for _, project in links} | {canonicalize_name(each.name) for each in self.asked}
        for project in sorted({project for _, project in self.links} - kept):
            self.pin(project, [])
        self._record("required", [f"{parent} requires {project}" for parent, project in sorted(links)])

    def forget(self, project: ProjectName) -> None:
        """Remove the record of a request for a project."""
        if self.table("tool", "wheelmill") is not None:
            self.keep_source(project, ())
            self._record("packages", [str(each) for each in self.asked if canonicalize_name(each.name) != project])

    def keep_source(self, project: ProjectName, texts: Sequence[str]) -> None:
        """Record where the wheels of a project come from, in place of what was recorded."""
        if texts:
            array = tomlkit.array()
            array.extend(texts)
            self.make_table("tool", "wheelmill").setdefault("sources", tomlkit.inline_table())[project] = array
        else:
            self.prune("tool", "wheelmill", "sources", project)

    def keep_torch_for(self, linked: Iterable[ProjectName]) -> None:
        """Record the wheels that torch is pinned for, and the dependency on torch before the first of them."""
        noted = self._noted("torch-for")
        ours = self.make_table("tool", "wheelmill")
        if "torch-was" not in ours:
            ours["torch-was"] = self.dependencies_on(TORCH)
        ours["torch-for"] = sorted({*noted, *linked})

    @property
    def torch_by_hand(self) -> list[Requirement]:
        """The dependency on torch before wheelmill pinned it, or the current one if the user changed it since."""
        was, now = self._noted("torch-was"), self.dependencies_on(TORCH)
        is_kept = "torch-was" in (self.table("tool", "wheelmill") or {}) and _are_pins_of_ours({*now} - {*was})
        return [read_requirement(text) for text in (was if is_kept else now)]

    def release_torch(self, removed: Collection[ProjectName]) -> None:
        """Undo changes for wheels linked to torch when the last of them is removed; a removed torch is not restored."""
        ours = self.table("tool", "wheelmill") or {}
        if TORCH in removed:
            self.prune("tool", "wheelmill", "torch-was")
        if "torch-for" not in ours:
            return
        if left := [each for each in self._noted("torch-for") if each not in removed]:
            ours["torch-for"] = left
            return
        was = self._noted("torch-was")
        self.prune("tool", "wheelmill", "torch-for")
        self.prune("tool", "wheelmill", "torch-was")
        self.draw_from(TORCH, [])
        if _are_pins_of_ours({*self.dependencies_on(TORCH)} - {*was}):
            self.write_dependencies(TORCH, was)

    def _noted(self, key: str) -> list[str]:
        """The entries of a list in wheelmill's own table, as written."""
        texts = (self.table("tool", "wheelmill") or {}).get(key, [])
        return [str(texts[place]) for place, _ in self._parse(f"tool.wheelmill.{key}", texts)]

    def _record(self, key: str, texts: list[str]) -> None:
        if texts:
            self.make_table("tool", "wheelmill")[key] = texts
        else:
            self.prune("tool", "wheelmill", key)

    def _list_with(self, project: ProjectName) -> tuple[Array, list[int]]:
        """The list in which a dependency stands, or will stand, and its places there."""
        *above, key = self._keys_of(project)
        table = self.make_table(*above)
        if key in table.get("dynamic", ()):
            raise UsageError(
                "dependencies-dynamic",
                f"{self.path}: project.dynamic: dependencies that are computed at build time cannot be changed",
                hint="list them under [project] dependencies",
            )
        if key not in table:
            table[key] = tomlkit.array().multiline(multiline=True)
        named = ((place, each.name) for _, place, each in self._dependencies())
        return table[key], [place for place, name in named if canonicalize_name(name) == project]

    def _keys_of(self, project: ProjectName) -> tuple[str, ...]:
        lists = (keys for keys, _, each in self._dependencies() if canonicalize_name(each.name) == project)
        return next(lists, self.list_keys)

    def _dependencies(self) -> Iterator[tuple[tuple[str, ...], int, Requirement]]:
        """Yield each dependency, with its list and its place there; of several lists that have it, the first counts."""
        lists: dict[ProjectName, tuple[str, ...]] = {}
        for keys in dict.fromkeys((self.list_keys, PROJECT_LIST, *self._named_lists())):
            for place, requirement in self._listed(keys):
                if lists.setdefault(canonicalize_name(requirement.name), keys) == keys:
                    yield keys, place, requirement

    def _named_lists(self) -> Iterator[tuple[str, ...]]:
        """Yield the lists of extras and of dependency groups."""
        return ((*table, each) for table in (EXTRAS, GROUPS) for each in self.table(*table) or ())

    def _listed(self, keys: tuple[str, ...]) -> Iterator[tuple[int, Requirement]]:
        return self._parse(".".join(keys), (self.table(*keys[:-1]) or {}).get(keys[-1]))

    def _parse(self, key: str, texts: object) -> Iterator[tuple[int, Requirement]]:
        if not isinstance(texts, Array | list | None):
            raise UsageError("requirements-invalid", f"{self.path}: {key}: expected a list of requirements")
        for place, text in enumerate(texts or ()):
            if isinstance(text, Mapping) and key.startswith(GROUPS):
                continue  # {include-group = "test"}
            try:
                yield place, read_requirement(str(text))
            except ValueError as error:
                raise UsageError("requirement-invalid", f"{self.path}: {key}[{place}]: {error}") from None


def _insert(array: Array, place: int, text: str) -> None:
    """Insert an item; tomlkit omits the comma after the last item if only comments follow it."""
    lines = array.as_string().removesuffix("]").rstrip().splitlines()
    below = lines[-1].lstrip()
    if place == len(array) and below.startswith("#"):
        array.add_line(text, indent=lines[-1].removesuffix(below))
    else:
        array.insert(place, text)


def _are_pins_of_ours(texts: Iterable[str]) -> bool:
    """True if dependencies on torch have wheelmill's form, hence are unchanged since."""
    return all(str(Requirement(text).specifier).endswith(".*") for text in texts)


OURS: Final = "wheelmill-"
"""The names of indexes that wheelmill adds begin with this."""
_PLACES: Final = frozenset(("index", "source", "url", "git", "path", "file", "workspace"))
"""The keys that say where a dependency comes from; Poetry has its version and extras in the same table."""


class IndexTables(PyprojectEditor):
    """``pyproject.toml`` with one table of indexes, and another that maps dependencies to them."""

    names_indexes = True
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
        """Name a project's indexes for the targets of pins; without pins, only the user's own ones of torch stay."""
        if any(pin.index for pin in pins):
            self.make_table(*self._sources_of(project))  # above the indexes
        had = entries_of(self._source_of(project))
        entries = self._source_entries(project)
        is_released = project == TORCH and not pins
        new = [each for each in had if each not in entries or (is_released and self._is_by_hand(each))]
        for item in replace_by_marker([self._marker_of(entry) for entry in entries], pins):
            if isinstance(item, int):
                new.append(entries[item])
            elif item.index:
                new.append(self._source_entry(item, item.index))
        if not new:
            self.prune(*self._sources_of(project), self._source_key(project))
        elif new != had:
            self._write_sources(project, new)
        self._drop_unused_indexes()

    def _write_sources(self, project: ProjectName, entries: Sequence[MutableMapping[str, Any]]) -> None:
        array = tomlkit.array()
        array.extend(entries)  # not an array of tables, below which no key could be added
        sources = self.make_table(*self._sources_of(project))
        set_key(sources, self._source_key(project), entries[0] if len(entries) == 1 else array)

    def has_source_by_hand(self, project: ProjectName, pins: Sequence[Pin]) -> bool:
        """True if the user set a project's source for a target of pins."""
        markers = [self._marker_of(each) for each in self._source_entries(project) if self._is_by_hand(each)]
        return any(pin.counts_for(marker) for marker in markers for pin in pins)

    def _is_by_hand(self, entry: Mapping[str, Any]) -> bool:
        return bool(_PLACES & entry.keys()) and not str(entry.get(self.source_word, "")).startswith(OURS)

    def _source_entries(self, project: ProjectName) -> list[MutableMapping[str, Any]]:
        """The sources of a dependency, without those that uv limits to an extra or a group where it does not stand."""
        entries = entries_of(self._source_of(project))
        for word, table in (("extra", EXTRAS), ("group", GROUPS)):
            entries = [each for each in entries if word not in each or (*table, each[word]) == self._keys_of(project)]
        return entries

    def _marker_of(self, entry: object) -> Marker | None:
        text = entry.get(self.marker_word) if isinstance(entry, Mapping) else None
        try:
            return None if text is None else Marker(str(text))
        except InvalidMarker as error:
            raise UsageError("marker-invalid", f"{self.path}: expected a marker (PEP 508): {error}") from None

    def _sources_of(self, project: ProjectName) -> tuple[str, ...]:  # noqa: ARG002 - Poetry has a table for each group
        return self.source_keys

    def _source_key(self, project: ProjectName) -> str:
        """The spelling of a project's name in the table of sources."""
        sources = self.table(*self._sources_of(project)) or {}
        return next((key for key in sources if canonicalize_name(key) == project), project)

    def _source_of(self, project: ProjectName) -> object:
        return (self.table(*self._sources_of(project)) or {}).get(self._source_key(project))

    def _source_entry(self, pin: Pin, index: Index) -> InlineTable:
        entry = tomlkit.inline_table()
        entry[self.source_word] = self._index_named(index)
        if pin.marker:
            entry[self.marker_word] = pin.marker
        return entry

    def _index_named(self, wanted: Index) -> str:
        """The name of the index with a URL; an index is added if none has it, or if it has no name, as uv allows."""
        indexes = self.array_of_tables(*self.index_keys)
        for index in indexes:
            if "name" in index and str(index.get("url", "")).rstrip("/") == wanted.url.rstrip("/"):
                return str(index["name"])
        taken = {str(index.get("name")) for index in indexes}
        names = (wanted.name, *(f"{wanted.name}-{n}" for n in range(2, len(taken) + 3)))
        free = next(name for name in names if name not in taken)
        around, key = self.make_table(*self.index_keys[:-1]), self.index_keys[-1]
        if key not in around:
            around[key] = tomlkit.aot()
        added = tomlkit.table() if isinstance(around[key], AoT) else tomlkit.inline_table()
        added.update({"name": free, "url": wanted.url, **self.explicit})
        around[key].append(added)
        named = {index.get("name") for index in self.array_of_tables(*self.index_keys)}
        if free not in named:  # tomlkit added it to a copy
            raise self.unchangeable
        return free

    def _drop_unused_indexes(self) -> None:
        """Remove unused indexes that wheelmill added."""
        tables = {self.source_keys, *(self._sources_of(canonicalize_name(each.name)) for each in self.requirements)}
        sources = [source for keys in tables for source in (self.table(*keys) or {}).values()]
        used = {entry.get(self.source_word) for source in sources for entry in entries_of(source)}
        indexes = self.array_of_tables(*self.index_keys)
        for place in reversed(range(len(indexes))):
            index = indexes[place]
            ours = str(index.get("name")).startswith(OURS) and index.items() >= self.explicit.items()
            if ours and index["name"] not in used:
                del indexes[place]
        if not indexes:
            self.prune(*self.index_keys)


class UvPyproject(IndexTables):
    """``pyproject.toml`` of a uv project."""

    index_keys = ("tool", "uv", "index")
    source_keys = ("tool", "uv", "sources")
    source_word = "index"
    marker_word = "marker"
    explicit = MappingProxyType({"explicit": True})
