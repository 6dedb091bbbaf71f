"""Trust in files of a project, and facts from interpreters without any code of the environment.

A virtual environment is described by the interpreter that it was made with: ``home`` in ``pyvenv.cfg``. That one runs
isolated, and imports from its own standard library alone; of the environment it only reads names and metadata.

https://docs.python.org/3/library/venv.html
https://git-scm.com/docs/git-config#Documentation/git-config.txt-safedirectory
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from wheelmill.errors import UsageError
from wheelmill.system import process
from wheelmill.system.files import behind_links, read_bounded

TRUST: Final = "WHEELMILL_TRUST"
"""Variable that names folders, separated as in PATH, whose files count as the user's own."""
_TIMEOUT_S: Final = 60
_NAMES: Final = re.compile(r"(?:python|pypy)3\.[0-9]+t?")
"""Names of folders with a standard library, which are those of their interpreters."""
_AS_VIRTUAL: Final = """
import os, site, sys
from importlib.machinery import PathFinder

class Library(PathFinder):
    path = sys.path[:]
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return super().find_spec(name, cls.path if path is None else path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Library
python, shared = sys.argv.pop(1), sys.argv.pop(1)
sys.prefix = sys.exec_prefix = os.path.dirname(os.path.dirname(python))
import sysconfig
sys.executable = python
site.PREFIXES[:] = [sys.prefix] + [sys.base_prefix] * (shared == "true")
for folder in filter(os.path.isdir, site.getsitepackages()):
    sys.path.append(folder)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".pth") and os.path.isfile(path):
            with open(path, "rb") as file:
                lines = file.read(1 << 20).decode(errors="replace").splitlines()
            added = [os.path.join(folder, line.strip()) for line in lines if line.strip()]
            sys.path += filter(os.path.isdir, added)
exec(sys.argv.pop(1))
"""
"""Python for `ask` as ``site`` leaves it in a virtual environment, but for the code in ``.pth`` files."""


def ask(interpreter: Path, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Run our code as in an interpreter and parse its last output line as JSON; startup files may print before it."""
    python = interpreter.absolute()
    command: list[str | Path] = [python, "-I", "-c", code]
    if settings := _settings_of(python):
        shared = settings.get("include-system-site-packages", "").lower()
        command = [_base_of(python, settings), "-I", "-S", "-c", _AS_VIRTUAL, python, shared, code]
    printed = process.run([*command, *arguments], env=process.environment_for_foreign_code(), timeout=_TIMEOUT_S)
    return json.loads(printed.splitlines()[-1])


def is_virtual(environment: Path) -> bool:
    """True for a virtual environment, which another interpreter describes."""
    return (environment / "pyvenv.cfg").is_file()


def _settings_of(python: Path) -> dict[str, str]:
    """Read the ``pyvenv.cfg`` of an interpreter; empty if it has none."""
    path = python.parent.parent / "pyvenv.cfg"
    if not os.path.lexists(path):
        return {}
    pairs = (line.partition("=") for line in read_bounded(path).decode(errors="replace").splitlines())
    return {"home": "", **{key.strip().lower(): value.strip() for key, _, value in pairs}}


def _base_of(python: Path, settings: dict[str, str]) -> Path:
    """Find the interpreter that a virtual environment was made with, and refuse one that comes with the project."""
    environment = python.parent.parent
    home = Path(settings["home"])
    libraries = (path.name for path in (*environment.glob("lib/python3.*"), *environment.glob("lib/pypy3.*")))
    names = [*filter(_NAMES.fullmatch, libraries), "python3", "python", "python.exe"]
    base = next((path for name in names if (path := home / name).is_file()), None)
    if not home.is_absolute() or base is None:
        raise UsageError(
            "python-unusable",
            f"{environment}/pyvenv.cfg: there is no Python in {str(home)!r}",
            hint="make the environment again with 'uv venv --clear', or name another Python with --python-path",
        )
    real, project = behind_links(base), behind_links(environment.parent)
    is_on_path = _is_in(os.get_exec_path(), real, base.name)
    if real.is_relative_to(project if is_on_path else _root_of(project)) and not _is_named(real):
        raise UsageError(
            "python-of-project",
            f"{environment} was made with {base}, which may have come with the project, so it is not started",
            hint=f"if you trust it: {TRUST}={base.parent}",
        )
    if not is_on_path:
        check_trusted(base)
    return base


def _is_in(folders: Iterable[str | Path], real: Path, name: str) -> bool:
    return any(behind_links(Path(folder, name)) == real for folder in folders)


def _root_of(project: Path) -> Path:
    """Root of the repository that a project is in, else the project; a home with a repository of settings is none."""
    home = behind_links(Path.home())
    folders = (folder for folder in (project, *project.parents) if not home.is_relative_to(folder))
    is_root = (each for each in folders if any(os.path.lexists(each / name) for name in (".git", ".hg")))
    return next(is_root, project)


def check_trusted(path: Path) -> None:
    """Refuse a file that another user owns, or may change or replace."""
    if reason := find_distrust(path):
        raise UsageError("file-of-others", reason, hint=f"if you trust them: {TRUST}={path.absolute().parent}")


def check_interpreter(path: Path) -> None:
    """Refuse an environment's interpreter as `check_trusted` does, but let one that PATH has too lie anywhere.

    GitHub's machines let everybody write where setup-python's are. What a clone puts on PATH does not count.
    """
    real = behind_links(path)
    check_trusted(path.parent if _is_in(process.program_folders(), real, real.name) else path)


def find_distrust(path: Path) -> str | None:
    """Find a reason not to trust a file, in the owners and modes of it and all folders above; None if there is none."""
    real, named = behind_links(path), Path(os.path.abspath(path))  # noqa: PTH100 - links stay
    if sys.platform == "win32" or _is_named(real):  # modes on Windows say nothing of ownership
        return None
    places = dict.fromkeys((named, real, *named.parents, *real.parents))
    return next((f"{path}: {place} {fault}" for place in places if (fault := _fault_of(place))), None)


def _is_named(real: Path) -> bool:
    """True if the user named a folder around a path as trusted."""
    folders = (Path(each) for each in os.environ.get(TRUST, "").split(os.pathsep) if each)
    return any(real.is_relative_to(behind_links(each)) for each in folders)


def _fault_of(place: Path) -> str | None:
    """The way in which others own or may write one file or folder; None if they do not, or it is absent."""
    assert sys.platform != "win32"  # noqa: S101 - for mypy
    import grp
    import pwd

    if not os.path.lexists(place):
        return None
    state, me, top = place.lstat(), os.geteuid(), Path("/").stat().st_uid  # containers may map root to another number
    if str(state.st_uid) not in (str(me), str(top), None if me else os.environ.get("SUDO_UID")):
        return f"belongs to user {state.st_uid}"
    if stat.S_ISLNK(state.st_mode) or (stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX):
        return None
    try:
        name, _, _, members = grp.getgrgid(state.st_gid)
        is_shared = state.st_gid != 0 and {name, *members} != {pwd.getpwuid(me).pw_name}
    except KeyError:
        is_shared = state.st_gid not in (0, me)
    if state.st_mode & (stat.S_IWOTH | (stat.S_IWGRP if is_shared else 0)):
        return f"may be written by others ({stat.filemode(state.st_mode)})"
    return None
