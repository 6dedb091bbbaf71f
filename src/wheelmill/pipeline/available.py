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
from wheelmill.release.manifest import Manifest
from wheelmill.release.store import Store
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A wheel that may stand beside another one."""

    provenance: Provenance
    fetch: Callable[[Path], WheelFile]
    """Puts it into a folder, if it is not on this disk already."""


def released_neighbours(manifests: Iterable[Manifest], store: Store) -> list[Neighbour]:
    """Every wheel that a store has."""
    return [
        Neighbour(provenance=provenance, fetch=partial(store.fetch, manifest.tag, entry.filename, entry.sha256))
        for manifest in manifests
        for entry in manifest.wheels
        if (provenance := entry.certificate.provenance)
    ]


def neighbours_on_disk(files: Iterable[WheelFile]) -> list[Neighbour]:
    """Every wheel on this disk whose provenance lies beside it."""
    return [
        Neighbour(provenance=provenance, fetch=partial(_itself, file))
        for file in files
        if (provenance := provenance_of(file))
    ]


def _itself(file: WheelFile, _folder: Path) -> WheelFile:
    return file


def required_beside(
    cell: Cell, python: PythonVersion, requires: Sequence[ProjectName], available: Sequence[Neighbour]
) -> list[Neighbour]:
    """Find what a wheel requires on one Python, and what that requires in its turn.

    Raises:
        LookupError: with the name of a project that is not available for that Python and the wheel's CUDA and torch.
    """
    chosen: dict[ProjectName, Neighbour] = {}
    wanted = list(requires)
    while wanted:
        project = wanted.pop()
        if project in chosen:
            continue
        fitting = [
            neighbour
            for neighbour in available
            if (other := neighbour.provenance.cell).project == project
            and (other.cuda, other.torch, other.platform) == (cell.cuda, cell.torch, cell.platform)
            and python in neighbour.provenance.pythons
        ]
        if not fitting:
            raise LookupError(project)
        chosen[project] = max(fitting, key=lambda neighbour: Version(neighbour.provenance.cell.version))
        wanted.extend(chosen[project].provenance.expectations.requires)
    return list(chosen.values())


def check_required(target: BuildTarget, available: Sequence[Neighbour]) -> None:
    """Look for what a wheel will need beside it, before hours are spent on building it.

    Raises:
        BuildError: there is no wheel of it for the same Python, CUDA and torch.
    """
    cell = target.cell
    try:
        for python in target.pythons:
            required_beside(cell, python, target.package.expectations.requires, available)
    except LookupError as error:
        torch = f" --torch {cell.torch}" if cell.torch else ""
        raise BuildError(
            f"{cell.id} requires {error}, of which there is no wheel for the same Python, CUDA and torch",
            hint=f"wheelmill run {error} {cell.project} --python {cell.python} --cuda {cell.cuda}{torch}",
        ) from None
