"""The visit to clean rooms: a wheel is installed as a user would, beside the torch that it names, and imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from wheelmill.errors import IntegrityError, ProcessError
from wheelmill.installers.package_index import PackageIndexError
from wheelmill.names import PythonVersion
from wheelmill.smoke.environment import CandidateIndex, Room, Rooms, evaluate
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.machine import absent_libraries, gpus_in
from wheelmill.smoke.symbols import undefined_symbols
from wheelmill.smoke.verdict import THIS_MACHINE, CleanRoom
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding

_IMPORT: Final = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"

_DISTRIBUTIONS: Final = (
    "import importlib.metadata as m, json\n"
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}, sort_keys=True))"
)


def try_in_clean_rooms(
    contents: Contents,
    python: PythonVersion | None,
    rooms: Rooms,
    index: CandidateIndex,
    *,
    requirements: Sequence[str],
    progress: Progress,
) -> tuple[CleanRoom | Finding, ...]:
    """Install a wheel whose bytes had no findings, and import it.

    Args:
        contents: the wheel.
        python: the interpreter to try it on; None takes the version of the running one.
        rooms: makes the rooms.
        index: has the wheel.
        requirements: exact ones, on it and on the wheels of that index that it cannot do without.
        progress: told of what takes long.

    Returns:
        The rooms it was imported in, and what went wrong in the next one: the first step that fails ends the visit.

    Raises:
        UsageError: this machine lacks what the rooms need.
    """
    visited: list[CleanRoom] = []
    try:
        for entered in rooms.of(contents, python, index, progress):
            with entered as room:
                outcome = _visit(contents, room, requirements)
            if not isinstance(outcome, CleanRoom):
                return (*visited, *outcome)
            visited.append(outcome)
    except ProcessError as error:
        return (*visited, Finding(code=Code.ENVIRONMENT, detail=error.tail or str(error)))
    except (PackageIndexError, IntegrityError) as error:
        return (*visited, Finding(code=Code.ENVIRONMENT, detail=str(error)))
    return tuple(visited)


def _visit(contents: Contents, room: Room, requirements: Sequence[str]) -> CleanRoom | tuple[Finding, ...]:
    label = contents.name.label
    if label and label.torch:
        room.install_torch(f"torch=={label.torch}.*")
    absent = absent_libraries(contents.evidence, contents.expectations, room)
    script = contents.expectations.script
    gpus = gpus_in(room) if script else 0
    for findings in _steps(contents, room, requirements, absent, script if gpus else None):
        if findings:
            where = "" if room.place == THIS_MACHINE else f"in {room.place}: "
            return tuple(replace(finding, detail=where + finding.detail) for finding in findings)
    skipped = (
        *(f"import: {name} is not part of wheels, and {room.place} has none" for name in absent),
        *([f"smoke script: {room.place} has no GPU"] if script and not gpus else []),
    )
    version = evaluate(room, str, "import json, platform; print(json.dumps(platform.python_version()))")
    return CleanRoom(
        place=room.place, python=version, installed=evaluate(room, dict[str, str], _DISTRIBUTIONS), skipped=skipped
    )


def _steps(
    contents: Contents, room: Room, requirements: Sequence[str], absent: Sequence[str], script: str | None
) -> Iterator[tuple[Finding, ...]]:
    yield tuple(_wrong_torch(contents, room))
    yield tuple(undefined_symbols(contents, room, without_cuda=bool(absent)))
    yield tuple(_failed_install(room, requirements))
    if absent:
        return
    yield tuple(_failed_imports(contents, room))
    yield tuple(_failed_script(script, room))


def _wrong_torch(contents: Contents, room: Room) -> Iterator[Finding]:
    label = contents.name.label
    if label and label.torch:
        cuda = evaluate(room, str, "import json, torch; print(json.dumps(str(torch.version.cuda)))")
        if cuda != str(label.cuda):
            yield Finding(
                code=Code.ENVIRONMENT,
                detail=f"the package index gives torch {label.torch} for CUDA {cuda}, so {label} cannot be tried",
            )


def _failed_install(room: Room, requirements: Sequence[str]) -> Iterator[Finding]:
    before = evaluate(room, dict[str, str], _DISTRIBUTIONS)
    try:
        room.install(requirements)
    except ProcessError as error:
        yield Finding(code=Code.INSTALL, detail=error.tail)
        return
    after = evaluate(room, dict[str, str], _DISTRIBUTIONS)
    if changed := sorted(project for project in before if after.get(project) != before[project]):
        yield Finding(code=Code.INSTALL, detail=f"installing it replaced {', '.join(changed)}")


def _failed_imports(contents: Contents, room: Room) -> Iterator[Finding]:
    """Import the modules in one process, in order: many extensions load only after torch."""
    modules = contents.expectations.imports
    try:
        room.run(_IMPORT, *modules)
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail or error}")


def _failed_script(script: str | None, room: Room) -> Iterator[Finding]:
    if script is None:
        return
    try:
        room.run(script)
    except ProcessError as error:
        yield Finding(code=Code.SCRIPT, detail=error.tail or str(error))
