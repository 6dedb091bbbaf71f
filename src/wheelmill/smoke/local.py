"""The clean room on this machine: a new virtual environment that installs the wheel as a user would."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from wheelmill import process, virtual_environment
from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion
from wheelmill.smoke.evidence import Contents, open_symbols
from wheelmill.smoke.machine import absent_libraries, gpus_in
from wheelmill.smoke.records import CleanRoom
from wheelmill.virtual_environment import VirtualEnvironment
from wheelmill.wheel.elf import undefined_in
from wheelmill.wheel.records import Code, Finding

_SHOWN: Final = 10
"""How many symbols one finding names."""

_OF_CUDA: Final = ("cu", "__cuda", "nvrtc")
"""How the names of symbols begin that the driver, the runtime and their kin define."""

_IMPORT: Final = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"


def try_in_clean_room(
    contents: Contents, python: PythonVersion | None, index_url: str, requirements: Sequence[str]
) -> CleanRoom | tuple[Finding, ...]:
    """Install a wheel whose bytes had no findings, and import it.

    Args:
        contents: the wheel.
        python: the interpreter to try it on; None takes the running one.
        index_url: a simple index that has it.
        requirements: exact ones, on it and on the wheels of that index that it cannot do without.

    Returns:
        The room it was imported in, or what went wrong: the first step that fails ends the visit.
    """
    with tempfile.TemporaryDirectory(prefix="wheelmill-smoke-") as folder:
        try:
            room = virtual_environment.create(Path(folder), python=python, with_pip=True)
            _install_torch(contents, room)
        except ProcessError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=error.tail),)
        absent = absent_libraries(contents.evidence, contents.expectations, room)
        for findings in _visit(contents, room, absent, index_url, requirements):
            if findings:
                return findings
        script = contents.expectations.script
        skipped = (
            *(f"import: {name} is not part of wheels, and this machine has none" for name in absent),
            *(["smoke script: this machine has no GPU"] if script and not gpus_in(room) else []),
        )
        return CleanRoom(python=_version_of(room), installed=room.distributions(), skipped=skipped)


def _visit(
    contents: Contents, room: VirtualEnvironment, absent: Sequence[str], index_url: str, requirements: Sequence[str]
) -> Iterator[tuple[Finding, ...]]:
    yield tuple(_wrong_torch(contents, room))
    yield tuple(_undefined_symbols(contents, room, without_cuda=bool(absent)))
    yield tuple(_failed_install(room, index_url, requirements))
    if absent:
        return
    yield tuple(_failed_imports(contents, room))
    yield tuple(_failed_script(contents, room))


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


def _undefined_symbols(contents: Contents, room: VirtualEnvironment, *, without_cuda: bool) -> Iterator[Finding]:
    symbols = open_symbols(contents.shared_objects)
    if without_cuda:
        symbols = frozenset(name for name in symbols if not name.startswith(_OF_CUDA))
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


def _failed_install(room: VirtualEnvironment, index_url: str, requirements: Sequence[str]) -> Iterator[Finding]:
    before = room.distributions()
    try:
        room.pip_install(requirements, extra_index=index_url)
    except ProcessError as error:
        yield Finding(code=Code.INSTALL, detail=error.tail)
        return
    after = room.distributions()
    if changed := sorted(project for project in before if after.get(project) != before[project]):
        yield Finding(code=Code.INSTALL, detail=f"installing it replaced {', '.join(changed)}")


def _failed_imports(contents: Contents, room: VirtualEnvironment) -> Iterator[Finding]:
    """Import the modules in one process, in order: many extensions load only after torch."""
    modules = contents.expectations.imports
    try:
        _run_in(room, "-c", _IMPORT, *modules)
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail}")


def _failed_script(contents: Contents, room: VirtualEnvironment) -> Iterator[Finding]:
    script = contents.expectations.script
    if script is None or not gpus_in(room):
        return
    try:
        _run_in(room, "-c", script)
    except ProcessError as error:
        yield Finding(code=Code.SCRIPT, detail=error.tail)


def _run_in(room: VirtualEnvironment, *arguments: str) -> str:
    environment = process.environment_for_foreign_code()
    return process.run([room.python, "-I", *arguments], cwd=room.directory, env=environment)
