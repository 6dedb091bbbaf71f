"""A project that Poetry manages, with dependencies under ``[project]`` or, as before Poetry 2, under ``[tool.poetry]``.

https://python-poetry.org/docs/pyproject/
https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.client.lock.pins import Pin
from wheelmill.client.project.index_tables import IndexTables
from wheelmill.client.project.locked_project import LockedProject
from wheelmill.client.project.toml_tables import set_key
from wheelmill.errors import ProcessError
from wheelmill.installers.uv import installer_environment
from wheelmill.names import ProjectName, read_requirement
from wheelmill.system import process
from wheelmill.system.progress import Progress

_DEPENDENCIES = ("tool", "poetry", "dependencies")


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
        values = [_constraint_of(Requirement(text)) for text in texts]
        if values:
            set_key(
                self.make_table(*_DEPENDENCIES), self._source_key(project), values[0] if len(values) == 1 else values
            )
        else:
            self.make_table(*_DEPENDENCIES).pop(self._source_key(project), None)

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Say which index has a project, and that it is for nothing else."""
        if not self._is_old:
            super().draw_from(project, pins)
            return
        table, key = self.make_table(*_DEPENDENCIES), self._source_key(project)
        for pin in pins:
            if pin.index:
                value = table[key] if isinstance(table[key], MutableMapping) else tomlkit.inline_table()
                if not isinstance(table[key], MutableMapping):
                    value["version"] = table[key]
                value["source"] = self._index_named(pin.index)
                table[key] = value
        self._drop_unused_indexes()


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


def _constraint_of(requirement: Requirement) -> object:
    """A requirement in the words of Poetry's own table."""
    table = tomlkit.inline_table()
    if requirement.url:
        table["url"] = requirement.url.partition("#")[0]  # Poetry keeps the hash in its lock alone
    else:
        table["version"] = str(requirement.specifier) or "*"
    if requirement.extras:
        table["extras"] = sorted(requirement.extras)
    if requirement.marker:
        table["markers"] = str(requirement.marker)
    return table if set(table) != {"version"} else table["version"]


def specifiers_of(constraint: str) -> str:
    """Translate Poetry's constraint: ``^2.7``, ``~2.7``, ``2.7.*``, ``*``, ``>=2.7,<3`` or ``2.7``.

    https://python-poetry.org/docs/dependency-specification/

    Returns:
        Specifiers (PEP 440); empty for any version.

    Raises:
        ValueError: the constraint has no such form.
    """
    if "|" in constraint:
        raise ValueError(f"{constraint!r} has alternatives, which version specifiers cannot express")
    try:
        return str(SpecifierSet(",".join(_specifier_of(part.strip()) for part in constraint.split(","))))
    except (InvalidSpecifier, InvalidVersion):
        raise ValueError(f"expected a version constraint, not {constraint!r}") from None


def _specifier_of(part: str) -> str:
    if part == "*":
        return ""
    match part[:1]:
        case "^":
            return _up_to_the_next(part[1:], lambda release: next((n for n, part in enumerate(release) if part), None))
        case "~" if not part.startswith("~="):
            return _up_to_the_next(part[1:], lambda release: min(1, len(release) - 1))
        case digit if digit.isdigit():
            return f"=={part}"
        case _:
            return part


def _up_to_the_next(text: str, place_in: Callable[[tuple[int, ...]], int | None]) -> str:
    """From a version on, below the one in which the number at a place is one higher."""
    version = Version(text.strip())
    release = version.release
    place = place_in(release)
    place = len(release) - 1 if place is None else place
    upper = ".".join(map(str, (*release[:place], release[place] + 1)))
    return f">={version},<{upper}"
