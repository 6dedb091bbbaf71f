"""A project that Poetry manages, with dependencies under ``[project]`` or, as before Poetry 2, under ``[tool.poetry]``.

https://python-poetry.org/docs/pyproject/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable, String

from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.index_tables import OURS, IndexTables
from wheelmill.client.project.locked_project import LockedProject
from wheelmill.client.project.poetry_constraint import specifiers_of
from wheelmill.client.project.toml_tables import set_key
from wheelmill.errors import ProcessError, UsageError
from wheelmill.installers.uv import installer_environment
from wheelmill.names import TORCH, ProjectName, read_requirement
from wheelmill.system import process
from wheelmill.system.progress import Progress

_DEPENDENCIES = ("tool", "poetry", "dependencies")
_WRITTEN = "torch-as-written"
"""The key of tool.wheelmill with the TOML of a dependency on torch."""


class PoetryPyproject(IndexTables):
    """A ``pyproject.toml`` that Poetry reads."""

    index_keys = ("tool", "poetry", "source")
    source_keys = _DEPENDENCIES
    source_word = "source"
    marker_word = "markers"
    explicit = MappingProxyType({"priority": "explicit"})

    @property
    def _is_old(self) -> bool:
        """Whether the dependencies stand in Poetry's own table."""
        return "dependencies" not in (self.table("project") or {}) and self.table(*_DEPENDENCIES) is not None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it depends on; of what PEP 508 cannot say, the name."""
        if not self._is_old:
            return super().requirements
        table = self.table(*_DEPENDENCIES) or {}
        return tuple(
            Requirement(text) for name, value in table.items() if name != "python" for text in _texts(name, value)
        )

    def dependencies_on(self, project: ProjectName) -> list[str]:
        """The dependencies on a project, in the form of PEP 508."""
        if not self._is_old:
            return super().dependencies_on(project)
        return [str(each) for each in self.requirements if canonicalize_name(each.name) == project]

    def write_dependencies(self, project: ProjectName, texts: Sequence[str]) -> None:
        """Make texts the only dependencies on a project."""
        if not self._is_old:
            super().write_dependencies(project, texts)
            return
        table, key = self.make_table(*_DEPENDENCIES), self._source_key(project)
        values = [_constraint_of(Requirement(text), table.get(key)) for text in texts]
        if values:
            set_key(table, key, values[0] if len(values) == 1 else values)
        else:
            table.pop(key, None)

    def keep_torch_for(self, linked: Iterable[ProjectName]) -> None:
        """Note in Poetry's own words, too, how the project depended on torch: ``^2.0`` has others in PEP 508."""
        ours = self.make_table("tool", "wheelmill")
        torch = (self.table(*_DEPENDENCIES) or {}).get(self._source_key(TORCH)) if self._is_old else None
        if "torch-was" not in ours and isinstance(torch, String | InlineTable | Array):
            ours[_WRITTEN] = torch.as_string()
        super().keep_torch_for(linked)

    def release_torch(self, removed: Collection[ProjectName]) -> None:
        """Undo what was done for wheels that are linked to torch; what a person wrote comes back as it was.

        Raises:
            UsageError: somebody changed what was noted.
        """
        if TORCH in removed:
            self.prune("tool", "wheelmill", _WRITTEN)
        had = self._noted("torch-was")
        super().release_torch(removed)
        ours = self.table("tool", "wheelmill") or {}
        if "torch-for" in ours or _WRITTEN not in ours:
            return
        try:
            written = tomlkit.value(str(ours[_WRITTEN]))
        except TOMLKitError as error:
            raise UsageError(
                "saved-table-invalid", f"{self.path}: tool.wheelmill.{_WRITTEN}: expected a value of TOML: {error}"
            ) from None
        self.prune("tool", "wheelmill", _WRITTEN)
        if self.dependencies_on(TORCH) == had:
            self.make_table(*_DEPENDENCIES)[self._source_key(TORCH)] = written
            self._drop_unused_indexes()

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Name the index in each entry of a project, and drop the indexes that no entry names.

        An entry belongs to the pin in its place; where the counts differ, to the last pin that has an index.
        """
        if not self._is_old:
            super().draw_from(project, pins)
            return
        table, key = self.make_table(*_DEPENDENCIES), self._source_key(project)
        had = table.get(key)
        holder: Any = had if isinstance(had, list) else table
        places = range(len(had)) if isinstance(had, list) else [key] if had is not None else []
        indexes = [pin.index for pin in pins]
        if len(indexes) != len(places):
            indexes = [next(filter(None, reversed(indexes)), None)] * len(places)
        for place, index in zip(places, indexes, strict=True):
            entry = holder[place]
            changed = self._set_source(entry, index)
            if changed is not entry:
                holder[place] = changed
        self._drop_unused_indexes()

    def _set_source(self, entry: object, index: Index | None) -> object:
        """Name the index in an entry, a bare version becoming a table; without an index, remove wheelmill's."""
        if not isinstance(entry, MutableMapping):
            if index is None:
                return entry
            version = str(entry)  # the item itself has the comment behind it
            entry = tomlkit.inline_table()
            entry["version"] = version
        if index:
            set_key(entry, self.source_word, self._index_named(index))
        elif str(entry.get(self.source_word, "")).startswith(OURS):
            del entry[self.source_word]
        return entry


@dataclass(frozen=True, kw_only=True)
class PoetryProject(LockedProject):
    """A folder with a ``pyproject.toml`` and a ``poetry.lock``; see `Project`."""

    pyproject = PoetryPyproject
    lock_name = "poetry.lock"
    tool = "poetry"
    lock_arguments = ("lock", "--no-interaction")
    install_arguments = ("install", "--no-interaction")

    @cached_property
    def own_python(self) -> Path | None:
        """What ``poetry env info`` says."""
        try:
            with installer_environment() as variables:
                argv = [self.program, "env", "info", "--executable", "--no-ansi"]
                return Path(process.run(argv, cwd=self.root, env=variables).splitlines()[-1])
        except (ProcessError, IndexError):
            return None

    def make_environment(self, python: Path, progress: Progress) -> None:
        """Let Poetry make its environment."""
        self._run(progress, "env", "use", "--no-interaction", python)
        self.__dict__.pop("own_python", None)


def _texts(name: str, value: Any) -> list[str]:  # noqa: ANN401 - TOML
    """A dependency of Poetry's own table in the form of PEP 508; only its name where that has no words for it."""
    found = []
    for each in value if isinstance(value, list) else [value]:
        table = each if isinstance(each, MutableMapping) else {"version": str(each)}
        extras = f"[{','.join(table['extras'])}]" if table.get("extras") else ""
        marker = f" ; {table['markers']}" if table.get("markers") else ""
        try:
            place = f" @ {table['url']}" if "url" in table else specifiers_of(str(table.get("version", "*")))
            found.append(str(read_requirement(f"{name}{extras}{place}{marker}")))
        except ValueError:
            found.append(name)
    return found


def _constraint_of(requirement: Requirement, had: object) -> object:
    """A requirement in the words of Poetry's own table, and what stood in its place that this does not say."""
    table = tomlkit.inline_table()
    if requirement.url:
        table["url"] = requirement.url.partition("#")[0]  # Poetry keeps the hash in its lock alone
    else:
        table["version"] = str(requirement.specifier) or "*"
    if requirement.extras:
        table["extras"] = sorted(requirement.extras)
    if requirement.marker:
        table["markers"] = str(requirement.marker)
    if isinstance(had, MutableMapping):
        is_elsewhere = requirement.url or str(had.get("source", "")).startswith(OURS)
        kept = ("optional",) if is_elsewhere else ("optional", "source")
        table.update({key: had[key] for key in kept if key in had})
    return table if set(table) != {"version"} else table["version"]
