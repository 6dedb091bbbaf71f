"""A project's ``pyproject.toml``: its dependencies, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from tomlkit.items import Array

from wheelmill.client.lock.pins import Pin
from wheelmill.client.project.toml_tables import TomlTables
from wheelmill.client.project.uv_sources import UvSources
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName


class Pyproject(TomlTables):
    """A project: what it depends on, and what wheelmill was asked for."""

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
        UvSources(self).draw_from(project, pins)

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
                yield place, Requirement(str(text))
            except InvalidRequirement as error:
                raise UsageError(f"{self.path}: {key}[{place}]: {error}") from None
