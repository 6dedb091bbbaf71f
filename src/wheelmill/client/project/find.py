"""The interface of every kind of project, and detection of a command's project and its kind.

A project's file is edited as data, and only its own tool locks and installs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from wheelmill.client.environment.detect import ENVIRONMENTS, active_environment
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelmill.client.install.wheel_cache import WheelCache
    from wheelmill.client.project.change import Edit
    from wheelmill.client.records import Links, Resolution, Source

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


class Project(Protocol):
    """Project: files that declare dependencies, and the environment for them."""

    @property
    def kind(self) -> str:
        """Its kind, in words: ``uv project``."""

    @property
    def path(self) -> Path:
        """The file with its dependencies, which need not exist yet."""

    @property
    def root(self) -> Path:
        """The folder of its lock."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that an edit or its own tool may write, even if it does not exist."""

    @property
    def environment(self) -> Path | None:
        """The folder of its environment, which need not exist yet; None if only its tool knows it."""

    def find_python(self) -> Path | None:
        """The interpreter for its wheels: the one that the user named, else its tool's choice.

        None if no Python on this machine fits the project's declaration.
        """

    def check_install(self) -> None:
        """Refuse an impossible `install` before any change."""

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The user's requests to wheelmill, from which an update may take any matching version, and pinned wheels."""

    @property
    def links(self) -> Links:
        """The wheels that others require, which were chosen with these."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All its dependencies."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources that its files name: those of its wheels, and the indexes of its tool."""

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Make it depend on chosen wheels, given for each environment in ``resolutions``; updates read ``asked``."""

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Remove dependencies, and all additions made for them alone."""

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Lock it and install the dependencies in its files, with its own tool.

        The lock must have the hashes of the chosen wheels. The cache is for a tool that locks nothing.
        """

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Lock it and remove projects from its environment, with its own tool."""


def find_project(given: Path | None, python: Path | None = None) -> Project:
    """Find the named project, else the nearest one in or above this folder, else a new one here.

    ``given`` is its file or folder, or the folder of an environment; ``python`` an interpreter that the user named.

    Raises:
        UsageError: wheelmill cannot change projects of this kind.
    """
    path = given.absolute() if given else _nearest(Path.cwd())
    if path and _is_environment(path):
        return _bare_environment(path, python)
    if path and path.is_dir():
        path = _file_in(path) or path / "pyproject.toml"
    if path is None:
        prefix = python.parent.parent if python else _environment_beside(Path.cwd())
        if prefix and _is_environment(prefix) and (python or not _is_conda_base(prefix)):
            return _bare_environment(prefix, python)
        path = Path.cwd() / "pyproject.toml"
    if path.suffix == ".py":
        return _script(path, python)
    if path.suffix in (".txt", ".in"):
        from wheelmill.client.project.requirements import RequirementsProject, source_of

        return RequirementsProject(
            kind="requirements file", path=source_of(path), environment=_environment_beside(path.parent), python=python
        )
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
    return PlainProject(path=nearest / "pyproject.toml", python=None, environment=_environment_beside(nearest))


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
    from wheelmill.client.project.toml_tables import TomlTables
    from wheelmill.client.project.tool_project import PlainProject, tool_absent
    from wheelmill.client.project.tools import (
        HatchProject,
        PdmProject,
        PoetryProject,
        UvProject,
        find_workspace,
        hatch_environments,
        is_made_by_uv,
    )
    from wheelmill.installers.uv import find_uv

    folder, tables, uv = path.parent, TomlTables.read(path), find_uv()
    tool = next((each for each in _LOCKS if (folder / _LOCKS[each]).exists()), None)
    tool = tool or next((each for each in (*_LOCKS, "pixi") if tables.table("tool", each) is not None), None)
    workspace = find_workspace(folder)
    if workspace or tool == "uv":
        if uv is None:
            raise tool_absent(path, "uv")
        return UvProject(path=path, python=python, uv=uv, workspace=workspace)
    if tool == "pixi":
        raise UsageError(
            "project-unsupported",
            f"{path} is a project of pixi, which wheelmill does not change",
            hint="'wheelmill install' puts wheels into its environment",
        )
    if tool:
        return (PoetryProject if tool == "poetry" else PdmProject)(path=path, python=python)
    if hatch_environments(folder) is not None:
        return HatchProject(path=path, python=python)
    named = python.parent.parent if python else None
    environment = named if named and _is_environment(named) else _environment_beside(folder)
    if uv and (environment is None or is_made_by_uv(environment)):
        return UvProject(path=path, python=python, uv=uv)
    return PlainProject(path=path, python=python, environment=environment)


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

    kind = "conda environment" if (prefix / "conda-meta").is_dir() else "virtual environment"
    return RequirementsProject(kind=kind, path=prefix / _BARE, environment=prefix, python=python)


def _environment_beside(folder: Path) -> Path | None:
    """The environment in a folder, else the active one."""
    beside = (folder / name for name in ENVIRONMENTS)
    return next(filter(_is_environment, beside), None) or active_environment()


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").is_dir()


def _is_conda_base(prefix: Path) -> bool:
    """True if it is conda's base environment, which many shells activate at start."""
    return (prefix / "condabin").is_dir()
