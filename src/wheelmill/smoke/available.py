"""The wheels of ours that a wheel cannot do without: they are installed beside it when it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from packaging.version import Version

from wheelmill.build.provenance import Provenance, provenance_of
from wheelmill.errors import BuildError
from wheelmill.names import ProjectName, PythonVersion
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class AvailableWheel:
    """A wheel that may be installed beside another one."""

    provenance: Provenance
    fetch: Callable[[Path], WheelFile]
    """Puts it into a folder, if it is not on this disk already."""


def wheels_on_disk(files: Iterable[WheelFile]) -> list[AvailableWheel]:
    """Every wheel on this disk whose provenance lies beside it."""
    return [
        AvailableWheel(provenance=provenance, fetch=partial(_take, file))
        for file in files
        if (provenance := provenance_of(file))
    ]


def _take(file: WheelFile, _folder: Path) -> WheelFile:
    return file


def find_required(
    cell: Cell, python: PythonVersion, requires: Sequence[ProjectName], available: Sequence[AvailableWheel]
) -> list[AvailableWheel]:
    """Find what a wheel requires on one Python, and what that requires in its turn.

    Args:
        cell: the cell that the wheel was built for.
        python: the interpreter that all of them are installed into.
        requires: the projects that the wheel requires.
        available: the wheels to choose from.

    Raises:
        LookupError: with the name of a project that is not available for that Python and the wheel's CUDA and torch.
    """
    chosen: dict[ProjectName, AvailableWheel] = {}
    wanted = list(requires)
    while wanted:
        project = wanted.pop()
        if project in chosen:
            continue
        fitting = [
            wheel
            for wheel in available
            if (other := wheel.provenance.cell).project == project
            and (other.cuda, other.torch, other.platform) == (cell.cuda, cell.torch, cell.platform)
            and python in wheel.provenance.pythons
        ]
        if not fitting:
            raise LookupError(project)
        chosen[project] = max(fitting, key=lambda wheel: Version(wheel.provenance.cell.version))
        wanted.extend(chosen[project].provenance.expectations.requires)
    return list(chosen.values())


def check_required(target: BuildTarget, available: Sequence[AvailableWheel]) -> None:
    """Look for what a wheel will need beside it, before hours are spent on building it.

    Args:
        target: the build target that needs other wheels.
        available: the wheels that can be installed beside it.

    Raises:
        BuildError: there is no wheel of it for the same Python, CUDA and torch.
    """
    cell = target.cell
    try:
        for python in target.pythons:
            find_required(cell, python, target.package.expectations.requires, available)
    except LookupError as error:
        torch = f" --torch {cell.torch}" if cell.torch else ""
        raise BuildError(
            f"{cell.id} requires {error}, of which there is no wheel for the same Python, CUDA and torch",
            hint=f"wheelmill run {error} {cell.project} --python {cell.python} --cuda {cell.cuda}{torch}",
        ) from None
