"""The ``[project]`` table that dependencies stand in, made where a ``pyproject.toml`` has none (PEP 621)."""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableMapping
from typing import Any

import tomlkit
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.client.project.pyproject import Pyproject
from wheelmill.errors import UsageError
from wheelmill.names import PythonVersion, read_requirement

_FIRST_VERSION = "0.1.0"


def complete_project_table(pyproject: Pyproject, pythons: Collection[PythonVersion]) -> tuple[str, ...]:
    """Make ``[project]`` whole enough for installers: a name and a version, and what Poetry's own table says.

    Args:
        pyproject: the project's file, which is changed in place.
        pythons: the Pythons that a new project is for.

    Returns:
        What was done, a sentence each.

    Raises:
        UsageError: Poetry's table holds what ``[project]`` cannot say.
    """
    poetry = pyproject.table("tool", "poetry")
    had = pyproject.table("project")
    if had is None and poetry is not None:
        _carry_over(pyproject, poetry)
        return (f"{pyproject.path.name}: [project] was made from [tool.poetry]; uv and Poetry 2 read it",)
    project = pyproject.make_table("project")
    dynamic = project.get("dynamic", ())
    if "name" not in project:
        project["name"] = _name_of_folder(pyproject)
    if "version" not in project and "version" not in dynamic:
        project["version"] = _FIRST_VERSION
    if had is not None:
        return ()
    project["requires-python"] = _range_of(pythons)  # the wheels are for no others
    project["dependencies"] = tomlkit.array().multiline(multiline=True)
    return (f"{pyproject.path.name}: new project {project['name']}, for Python {project['requires-python']}",)


def _range_of(pythons: Collection[PythonVersion]) -> str:
    oldest, newest = min(pythons), max(pythons)
    if (oldest.major, oldest.minor) == (newest.major, newest.minor):
        return f"=={oldest.major}.{oldest.minor}.*"
    return f">={oldest.major}.{oldest.minor},<{newest.major}.{newest.minor + 1}"


def _name_of_folder(pyproject: Pyproject) -> str:
    try:
        return canonicalize_name(pyproject.path.resolve().parent.name, validate=True)
    except InvalidName:
        return "project"


def _carry_over(pyproject: Pyproject, poetry: MutableMapping[str, Any]) -> None:
    """Write what ``[tool.poetry]`` says as ``[project]``; Poetry's table stays as it is for the rest."""
    requirements, faults = [], []
    python = None
    for name, constraint in dict(poetry.get("dependencies", {})).items():
        try:
            if name == "python":
                python = specifiers_of(str(constraint))
            else:
                requirements.append(_requirement(str(name), constraint))
        except ValueError as error:
            faults.append(f"{pyproject.path}: tool.poetry.dependencies.{name}: {error}")
    if faults:
        raise UsageError("\n".join(faults), hint="write a [project] table with these dependencies (PEP 621)")
    project = pyproject.make_table("project")
    project["name"] = str(poetry.get("name") or _name_of_folder(pyproject))
    project["version"] = str(poetry.get("version") or _FIRST_VERSION)
    if python:
        project["requires-python"] = python
    array = tomlkit.array().multiline(multiline=True)
    array.extend(requirements)
    project["dependencies"] = array
    if poetry.get("package-mode") is False:
        pyproject.make_table("tool", "uv")["package"] = False


def _requirement(name: str, constraint: object) -> str:
    extras, marker = "", ""
    if isinstance(constraint, MutableMapping):
        if unknown := sorted(set(constraint) - {"version", "extras", "markers"}):
            raise ValueError(f"{', '.join(unknown)} cannot be carried over to [project]")
        extras = f"[{','.join(constraint.get('extras', ()))}]" if constraint.get("extras") else ""
        marker = f" ; {constraint['markers']}" if constraint.get("markers") else ""
        constraint = constraint.get("version", "*")
    if not isinstance(constraint, str):
        raise ValueError("several constraints cannot be carried over to [project]")  # noqa: TRY004 - of a document
    text = f"{name}{extras}{specifiers_of(constraint)}{marker}"
    return str(read_requirement(text))


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
