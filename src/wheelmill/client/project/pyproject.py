"""A project's ``pyproject.toml``: its dependencies, and what was asked for (PEP 621)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar

import tomlkit
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tomlkit.items import Array

from wheelmill.client.lock.pins import Pin
from wheelmill.client.project.toml_tables import TomlTables
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, ProjectName, read_requirement


class Pyproject(TomlTables):
    """A project: what it depends on, and what wheelmill was asked for. A tool that says more has a class of its own."""

    names_indexes: ClassVar[bool] = False
    """Whether it can say from which index one dependency comes; else every wheel is named by its URL."""

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
        had = [each for each in self.requirements if canonicalize_name(each.name) == project]
        self.write_dependencies(project, [pin.in_place_of(had).dependency for pin in pins])

    def dependencies_on(self, project: ProjectName) -> list[str]:
        """The dependencies on a project, as they are written."""
        array = self._dependency_array()
        return [str(array[place]) for place, found in self._dependencies() if canonicalize_name(found.name) == project]

    def write_dependencies(self, project: ProjectName, texts: Sequence[str]) -> None:
        """Make texts the only dependencies on a project, in the place of those that it had."""
        array = self._dependency_array()
        places = [place for place, found in self._dependencies() if canonicalize_name(found.name) == project]
        for place in reversed(places[len(texts) :]):
            del array[place]
        for number, text in enumerate(texts):
            if number < len(places):
                array[places[number]] = text
            else:
                place = places[-1] + 1 if places else len(array)
                _insert(array, place, text)
                places.append(place)

    def drop(self, project: ProjectName) -> bool:
        """Take every dependency on a project away, and where it comes from; False when there was none."""
        had = self.requirement_on(project) is not None
        if had:
            self.pin(project, [])
        return had

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Say which indexes have a project, and that they are for nothing else; PEP 621 has no words for that."""

    def has_source_by_hand(self, project: ProjectName) -> bool:  # noqa: ARG002 - for tools that have sources
        """Whether somebody else said where a project comes from."""
        return False

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

    def keep_torch_for(self, linked: Iterable[ProjectName]) -> None:
        """Note which wheels torch is pinned for, and how the project depended on it before the first of them.

        Raises:
            UsageError: somebody changed what was noted, and it is no list of requirements.
        """
        noted = self._noted("torch-for")
        ours = self.make_table("tool", "wheelmill")
        if "torch-was" not in ours:
            ours["torch-was"] = self.dependencies_on(TORCH)
        ours["torch-for"] = sorted({*noted, *linked})

    @property
    def torch_by_hand(self) -> list[Requirement]:
        """How the project depended on torch before wheelmill pinned it; as it does now where somebody changed that.

        Raises:
            UsageError: as keep_torch_for.
        """
        was, now = self._noted("torch-was"), self.dependencies_on(TORCH)
        is_kept = "torch-was" in (self.table("tool", "wheelmill") or {}) and _are_pins_of_ours(now)
        return [read_requirement(text) for text in (was if is_kept else now)]

    def release_torch(self, removed: Collection[ProjectName]) -> None:
        """Undo what was done for wheels that are linked to torch, when the last of them goes.

        A torch that is removed itself does not come back.

        Raises:
            UsageError: as keep_torch_for.
        """
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
        if _are_pins_of_ours(self.dependencies_on(TORCH)):
            self.write_dependencies(TORCH, was)
        if not self.has_source_by_hand(TORCH):
            self.draw_from(TORCH, [])

    def _noted(self, key: str) -> list[str]:
        """A list that wheelmill keeps in its own table, as it is written."""
        texts = (self.table("tool", "wheelmill") or {}).get(key, [])
        return [str(texts[place]) for place, _ in self._parse(f"tool.wheelmill.{key}", texts)]

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
                "dependencies-dynamic",
                f"{self.path}: project.dynamic: dependencies that are computed at build time cannot be changed",
                hint="list them under [project] dependencies",
            )
        if "dependencies" not in project:
            project["dependencies"] = tomlkit.array().multiline(multiline=True)
        dependencies = project["dependencies"]
        if not isinstance(dependencies, Array):
            raise UsageError(
                "requirements-invalid", f"{self.path}: project.dependencies: expected a list of requirements"
            )
        return dependencies

    def _dependencies(self) -> Iterator[tuple[int, Requirement]]:
        return self._parse("project.dependencies", (self.table("project") or {}).get("dependencies"))

    def _parse(self, key: str, texts: object) -> Iterator[tuple[int, Requirement]]:
        if not isinstance(texts, Array | list | None):
            raise UsageError("requirements-invalid", f"{self.path}: {key}: expected a list of requirements")
        for place, text in enumerate(texts or ()):
            try:
                yield place, read_requirement(str(text))
            except ValueError as error:
                raise UsageError("requirement-invalid", f"{self.path}: {key}[{place}]: {error}") from None


def _insert(array: Array, place: int, text: str) -> None:
    """Insert an item; tomlkit forgets the comma after the last one where only comments stand below that."""
    lines = array.as_string().removesuffix("]").rstrip().splitlines()
    below = lines[-1].lstrip()
    if place == len(array) and below.startswith("#"):
        array.add_line(text, indent=lines[-1].removesuffix(below))
    else:
        array.insert(place, text)


def _are_pins_of_ours(texts: Iterable[str]) -> bool:
    """Whether dependencies on torch have the form that wheelmill writes, so that nobody has changed them since."""
    return all(str(Requirement(text).specifier).endswith(".*") for text in texts)
