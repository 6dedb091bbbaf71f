"""The clean room on this machine: a new virtual environment that installs the wheel as a user would."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from wheelmill import process, virtual_environment
from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion
from wheelmill.smoke.evidence import Contents, open_symbols
from wheelmill.smoke.records import CleanRoom
from wheelmill.virtual_environment import VirtualEnvironment
from wheelmill.wheel.elf import undefined_in
from wheelmill.wheel.records import Code, Finding

_SHOWN: Final = 10
"""How many symbols one finding names."""


_IMPORT: Final = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"


def try_in_clean_room(contents: Contents, index_url: str) -> CleanRoom | tuple[Finding, ...]:
    """Install a wheel whose bytes had no findings, and import it.

    Args:
        contents: the wheel.
        index_url: a simple index that has it.

    Returns:
        The room it was imported in, or what went wrong: the first step that fails ends the visit.
    """
    with tempfile.TemporaryDirectory(prefix="wheelmill-smoke-") as folder:
        try:
            room = virtual_environment.create(Path(folder), python=_python_of(contents), with_pip=True)
            _install_torch(contents, room)
        except ProcessError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=error.tail),)
        for findings in _visit(contents, room, index_url):
            if findings:
                return findings
        return CleanRoom(python=_version_of(room), installed=room.distributions())


def _visit(contents: Contents, room: VirtualEnvironment, index_url: str) -> Iterator[tuple[Finding, ...]]:
    yield tuple(_wrong_torch(contents, room))
    yield tuple(_undefined_symbols(contents, room))
    yield tuple(_failed_install(contents, room, index_url))
    yield tuple(_failed_imports(contents, room))


def _python_of(contents: Contents) -> PythonVersion | None:
    """The one Python that the wheel's tags name; None when any will do."""
    if contents.provenance:
        return contents.provenance.cell.python
    for tag in contents.name.tags:
        if tag.interpreter.startswith("cp") and tag.abi.startswith("cp"):
            return PythonVersion.parse(tag.abi)
    return None


def _version_of(room: VirtualEnvironment) -> str:
    return str(room.evaluate("import json, platform; print(json.dumps(platform.python_version()))"))


def _install_torch(contents: Contents, room: VirtualEnvironment) -> None:
    label = contents.name.label
    if label and label.torch:
        room.install([f"torch=={label.torch}.*"])


def _wrong_torch(contents: Contents, room: VirtualEnvironment) -> Iterator[Finding]:
    label = contents.name.label
    if label and label.torch:
        cuda = room.evaluate("import json, torch; print(json.dumps(torch.version.cuda))")
        if cuda != str(label.cuda):
            yield Finding(
                code=Code.ENVIRONMENT,
                detail=f"the package index gives torch {label.torch} for CUDA {cuda}, so {label} cannot be tried",
            )


def _undefined_symbols(contents: Contents, room: VirtualEnvironment) -> Iterator[Finding]:
    symbols = open_symbols(contents.shared_objects)
    if any(library.startswith("libcuda.so") for library in contents.evidence.needed):
        symbols = frozenset(name for name in symbols if not name.startswith("cu"))  # the driver has them
    missing = sorted(undefined_in(symbols, _libraries_of(room)))
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        yield Finding(
            code=Code.UNDEFINED_SYMBOL,
            detail=f"nothing defines {', '.join(missing[:_SHOWN])}{more}; neither Python nor torch nor CUDA does",
        )


def _libraries_of(room: VirtualEnvironment) -> Iterable[Path]:
    """What an extension may take symbols from: Python itself, torch's libraries and CUDA's."""
    python: list[str] = room.evaluate(
        "import json, os, sys, sysconfig as s\n"
        "library = os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('LDLIBRARY') or '')\n"
        "print(json.dumps([os.path.realpath(sys.executable), library]))"
    )
    yield from (Path(name) for name in python if Path(name).is_file() and not name.endswith(".a"))
    yield from sorted(room.site_packages.glob("torch/lib/*.so*"))
    yield from sorted(room.site_packages.glob("nvidia/*/lib/*.so*"))


def _failed_install(contents: Contents, room: VirtualEnvironment, index_url: str) -> Iterator[Finding]:
    name = contents.name
    before = room.distributions()
    try:
        room.pip_install(f"{name.project}=={name.version}", extra_index=index_url, only_binary=name.project)
    except ProcessError as error:
        yield Finding(code=Code.INSTALL, detail=error.tail)
        return
    after = room.distributions()
    if changed := sorted(project for project in before if after.get(project) != before[project]):
        yield Finding(code=Code.INSTALL, detail=f"installing it replaced {', '.join(changed)}")


def _failed_imports(contents: Contents, room: VirtualEnvironment) -> Iterator[Finding]:
    """Import the modules in one process, in order: many extensions load only after torch."""
    modules = contents.provenance.test_imports if contents.provenance else _modules_of(contents)
    try:
        process.run(
            [room.python, "-I", "-c", _IMPORT, *modules],
            cwd=room.directory,
            env=process.environment_for_foreign_code(),
        )
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail}")


def _modules_of(contents: Contents) -> tuple[str, ...]:
    """The packages at the top of a wheel."""
    with zipfile.ZipFile(contents.file.path) as archive:
        initial = [name for name in archive.namelist() if name.endswith("/__init__.py") and name.count("/") == 1]
    return tuple(sorted(name.removesuffix("/__init__.py") for name in initial))
