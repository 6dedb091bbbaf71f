"""Rules on the files of a wheel and where they will lie: an installer writes them wherever the wheel says."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.findings import Code, Finding, some_of
from wheelmill.wheel.metadata import is_reserved
from wheelmill.wheel.record import InstalledFile

_STARTED: Final = ("sitecustomize", "usercustomize")
"""Python imports these modules whenever it starts; https://docs.python.org/3/library/site.html"""
_PARTS_OF_OTHERS: Final = {
    "_distutils_hack": "setuptools",
    "pkg_resources": "setuptools",
    "functorch": "torch",
    "torchgen": "torch",
}
"""Modules whose names do not say which project has them."""
_SETTINGS: Final = frozenset(("pyvenv.cfg", "pip.conf", "pip.ini", ".condarc", "condarc", "condarc.d", "conda-meta"))
"""What Python, pip and conda obey at the top of an environment.

https://docs.python.org/3/library/site.html, https://pip.pypa.io/en/stable/topics/configuration/,
https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html
"""
_OWN_LIBRARY: Final = re.compile(
    r"(?:python|pypy)3(?:\.\d+)?[dt]*"  # its modules, which are found after those of
    r"|python3\d+[dt]*\.zip"  # this, which need not be there
    r"|lib(?:python|pypy)3[\d.]*[dt]*(?:-c)?\.(?:a|so|dylib)[\d.]*"
)
"""What Python has under ``lib``: https://docs.python.org/3/library/sys_path_init.html"""
_CONDA_HOOKS: Final = frozenset(("activate.d", "deactivate.d", "env_vars.d"))
"""Folders under ``etc/conda`` that the shell of ``conda activate`` obeys.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html#saving-environment-variables
"""
_OF_A_SOURCE: Final = frozenset(
    (
        *("test", "tests", "conftest", "doc", "docs", "example", "examples", "benchmark", "benchmarks"),
        *("src", "build", "dist", "setup", "scripts", "tools"),
    )
)
"""Folders that sources have beside their packages, and that must not become modules of an environment."""
_COMMANDS: Final = frozenset(("python", "pythonw", "pydoc", "pip", "uv", "uvx", "activate", "deactivate"))
"""What an environment has, without its version."""


def runs_nothing_at_start(contents: Contents) -> Iterator[Finding]:
    """No file may run whenever Python starts, whether or not it is imported."""
    started = (
        file
        for file in _in_library(contents)
        if file.top in _STARTED or (len(file.path.parts) == 1 and file.path.name.endswith(".pth"))
    )
    yield from _finding(Code.STARTUP, started, "is run whenever Python starts")


def has_no_files_of_others(contents: Contents) -> Iterator[Finding]:
    """Installers overwrite what is there: a ``torch/__init__.py`` replaces torch's."""
    own = contents.name.project
    required = {canonicalize_name(requirement.name) for requirement in contents.metadata.requires_dist or ()} - {own}

    def is_of_others(file: InstalledFile) -> bool:
        if file.top.endswith((".dist-info", ".egg-info")):
            return not file.member.startswith(f"{contents.dist_info}/")
        project = canonicalize_name(_PARTS_OF_OTHERS.get(file.top, file.top))
        return project != own and (project in required or is_reserved(project))

    yield from _finding(Code.FOREIGN_FILES, filter(is_of_others, _in_library(contents)), "belongs to another project")


def has_no_files_of_the_environment(contents: Contents) -> Iterator[Finding]:
    """A ``pip.conf`` names the index of all that is installed later; conda has Python's library and its hooks there."""

    def is_of_the_environment(file: InstalledFile) -> bool:
        match [part.lower() for part in file.path.parts]:
            case ["lib" | "lib64", name, *_]:
                return _OWN_LIBRARY.fullmatch(name) is not None
            case ["etc", "conda", folder, _, *_]:
                return folder in _CONDA_HOOKS
            case parts:
                return parts[0] in _SETTINGS

    own = (file for file in contents.installed if file.place == "environment" and is_of_the_environment(file))
    yield from _finding(Code.FOREIGN_FILES, own, "belongs to the environment, not to a wheel")


def replaces_no_command(contents: Contents) -> Iterator[Finding]:
    """Nobody gets another ``python`` or ``pip`` by installing a wheel, nor a program outside of the folder for them."""
    if is_reserved(contents.name.project):
        return
    programs = [str(file.path) for file in contents.installed if file.place == "programs"]
    replaced = [
        name
        for name in (*contents.commands, *programs)
        if name.lower().partition(".")[0].rstrip("0123456789") in _COMMANDS or "/" in name.replace("\\", "/")
    ]
    if replaced:
        yield Finding(code=Code.COMMAND, detail=f"{some_of(replaced)} would replace another program")


def has_no_files_of_a_source(contents: Contents) -> Iterator[Finding]:
    """No folder ``tests`` at the top: two wheels that have one overwrite each other's files."""
    own = contents.name.project
    files = (file for file in _in_library(contents) if file.top in _OF_A_SOURCE and file.top != own)
    tops = dict.fromkeys(file.path.parts[0] for file in files)
    if tops:
        yield Finding(code=Code.TOP_LEVEL, detail=f"{some_of(list(tops))} lies beside all packages of the environment")


def has_no_bytecode(contents: Contents) -> Iterator[Finding]:
    """No bytecode: Python may run it without checking the source beside it (PEP 552)."""
    compiled = (file for file in contents.installed if file.path.suffix in (".pyc", ".pyo"))
    yield from _finding(Code.BYTECODE, compiled, "is bytecode, which need not be that of its source")


def has_no_special_modes(contents: Contents) -> Iterator[Finding]:
    """No setuid programs: a program in a wheel runs as whoever starts it."""
    special = [m.filename for m in contents.members if m.external_attr >> 16 & (stat.S_ISUID | stat.S_ISGID)]
    if special:
        yield Finding(code=Code.SETUID, detail=f"{some_of(special)} would run as another user")


def is_written_by_its_owner(contents: Contents) -> Iterator[Finding]:
    """Installers of today ignore these modes; what unpacks a wheel need not."""
    open_to_all = [m.filename for m in contents.members if m.external_attr >> 16 & stat.S_IWOTH]
    if open_to_all:
        yield Finding(code=Code.WORLD_WRITABLE, detail=f"everybody may write to {some_of(open_to_all)}")


def _in_library(contents: Contents) -> Iterator[InstalledFile]:
    return (file for file in contents.installed if file.place == "library")


def _finding(code: Code, files: Iterable[InstalledFile], fault: str) -> Iterator[Finding]:
    if names := [file.member for file in files]:
        yield Finding(code=code, detail=f"{some_of(names)} {fault}")


FILES: Final = (
    runs_nothing_at_start,
    has_no_files_of_others,
    has_no_files_of_the_environment,
    replaces_no_command,
    has_no_files_of_a_source,
    has_no_bytecode,
    has_no_special_modes,
    is_written_by_its_owner,
)
