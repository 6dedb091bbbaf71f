"""Detection of a command's project and its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from wheelmill.client.environment.detect import ENVIRONMENTS, active_environment
from wheelmill.errors import UsageError

if TYPE_CHECKING:
    from wheelmill.client.project.tool_project import Project

_FOREIGN: Final = {
    "Pipfile": "Pipenv",
    "pixi.toml": "pixi",
    "environment.yml": "conda",
    "setup.py": "setup.py",
    "setup.cfg": "setup.cfg",
}
"""Files that say what a folder depends on, and that wheelmill does not change."""
_LOCKS: Final = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock"}
"""The lock of each tool, in the order in which they decide where a folder has several."""
_REQUIREMENTS: Final = "requirements.txt"
_BARE: Final = "wheelmill-requirements.txt"
"""File in which an environment without a project keeps what was added to it."""


def find_project(named: Path | None, python: Path | None = None) -> Project:
    """Find the project of a path, else the nearest in or above this folder, else a new one; raises UsageError."""
    path = named.absolute() if named else _nearest(Path.cwd())
    if path and _is_environment(path):
        return _bare_environment(path, python)
    if path and path.is_dir():
        path = _file_in(path) or path / "pyproject.toml"
    if path is None:
        prefix = python.parent.parent if python else _environment_beside(Path.cwd())
        is_conda_base = prefix and (prefix / "condabin").is_dir()  # which many shells activate at start
        if prefix and _is_environment(prefix) and (python or not is_conda_base):
            return _bare_environment(prefix, python)
        path = Path.cwd() / "pyproject.toml"
    if path.suffix == ".py":
        return _script(path, python)
    if path.suffix in (".txt", ".in"):
        from wheelmill.client.project.requirements import RequirementsProject, source_of

        return RequirementsProject(path=source_of(path), python=python, prefix=_environment_beside(path.parent))
    return _pyproject(path, python)


def find_existing_project() -> Project | None:
    """Find the nearest project that has a file; None if there is none, which loads no kind of project."""
    here = Path.cwd()
    environment = _environment_beside(here)
    settings = (here / "uv.toml", *([environment / _BARE] if environment else []))
    if nearest := _nearest(here):
        return find_project(nearest)
    return find_project(None) if any(file.exists() for file in settings) else None


def project_unread(folder: Path) -> Project:
    """A project of which only its folder counts: the nearest with a ``pyproject.toml``, else this one."""
    from wheelmill.client.project.tool_project import PlainProject

    nearest = next((each for each in (folder, *folder.parents) if (each / "pyproject.toml").exists()), folder)
    return PlainProject(path=nearest / "pyproject.toml", python=None, prefix=_environment_beside(nearest))


def _nearest(folder: Path) -> Path | None:
    return next((found for each in (folder, *folder.parents) if (found := _file_in(each))), None)


def _file_in(folder: Path) -> Path | None:
    """The file with a folder's dependencies: requirements, if its ``pyproject.toml`` has only settings."""
    pyproject, requirements = folder / "pyproject.toml", folder / _REQUIREMENTS
    tables = None
    if pyproject.exists():
        from wheelmill.client.project.toml_tables import TomlTables

        tables = TomlTables.read(pyproject)
    if tables and (tables.table("project") is not None or tables.table("tool", "poetry") is not None):
        return pyproject
    if requirements.exists():
        return requirements
    for name, kind in _FOREIGN.items():
        if (folder / name).exists():
            raise UsageError(
                "project-unsupported",
                f"{folder / name} says what this folder depends on, and wheelmill does not change files of {kind}",
                hint=f"'wheelmill install' changes its environment alone; --project {_REQUIREMENTS} begins such a file",
            )
    return pyproject if tables else None


def _pyproject(path: Path, python: Path | None) -> Project:
    """The kind of a ``pyproject.toml`` project: by its lock, else its tool's table, else its environment."""
    from wheelmill.client.project import tools
    from wheelmill.client.project.toml_tables import TomlTables
    from wheelmill.client.project.tool_project import PlainProject, tool_absent
    from wheelmill.installers.uv import find_uv

    folder, tables, uv = path.parent, TomlTables.read(path), find_uv()
    tool = next((each for each in _LOCKS if (folder / _LOCKS[each]).exists()), None)
    tool = tool or next((each for each in (*_LOCKS, "pixi") if tables.table("tool", each) is not None), None)
    workspace = tools.find_workspace(folder)
    if workspace or tool == "uv":
        if uv is None:
            raise tool_absent(path, "uv")
        return tools.UvProject(path=path, python=python, uv=uv, workspace=workspace)
    if tool == "pixi":
        raise UsageError(
            "project-unsupported",
            f"{path} is a project of pixi, which wheelmill does not change",
            hint="'wheelmill install' puts wheels into its environment",
        )
    if tool:
        return (tools.PoetryProject if tool == "poetry" else tools.PdmProject)(path=path, python=python)
    if tools.hatch_environments(folder) is not None:
        return tools.HatchProject(path=path, python=python)
    named = python.parent.parent if python else None
    environment = named if named and _is_environment(named) else _environment_beside(folder)
    if uv and (environment is None or tools.is_made_by_uv(environment)):
        return tools.UvProject(path=path, python=python, uv=uv)
    return PlainProject(path=path, python=python, prefix=environment)


def _script(path: Path, python: Path | None) -> Project:
    from wheelmill.client.project.script import UvScript
    from wheelmill.client.project.tool_project import tool_absent
    from wheelmill.installers.uv import find_uv

    if not path.is_file():
        raise UsageError("script-absent", f"there is no script {path}")
    if uv := find_uv():
        return UvScript(path=path, python=python, uv=uv)
    raise tool_absent(path, "uv")


def _bare_environment(prefix: Path, python: Path | None) -> Project:
    from wheelmill.client.project.requirements import RequirementsProject

    return RequirementsProject(path=prefix / _BARE, python=python, prefix=prefix)


def _environment_beside(folder: Path) -> Path | None:
    """The environment in a folder, else the active one."""
    beside = (folder / name for name in ENVIRONMENTS)
    return next(filter(_is_environment, beside), None) or active_environment()


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").is_dir()
