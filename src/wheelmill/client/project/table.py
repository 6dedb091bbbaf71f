"""The ``[project]`` table that dependencies stand in, made where a ``pyproject.toml`` has none (PEP 621)."""

from __future__ import annotations

from collections.abc import Collection

import tomlkit
from packaging.utils import InvalidName, canonicalize_name

from wheelmill.client.project.pyproject import Pyproject
from wheelmill.names import PythonVersion
from wheelmill.system.files import behind_links

_FIRST_VERSION = "0.1.0"


def complete_project_table(pyproject: Pyproject, pythons: Collection[PythonVersion]) -> tuple[str, ...]:
    """Make ``[project]`` whole enough for installers: a name and a version.

    Args:
        pyproject: the project's file, which is changed in place.
        pythons: the Pythons that a new project is for.

    Returns:
        What was done, a sentence each.
    """
    had = pyproject.table("project")
    if had is None and pyproject.table("tool", "poetry") is not None:
        return ()  # as before Poetry 2
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
        return canonicalize_name(behind_links(pyproject.path).parent.name, validate=True)
    except InvalidName:
        return "project"
