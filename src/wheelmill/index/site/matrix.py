"""The matrix: for every package and each of the newest torches the newest version that there are wheels of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from wheelmill.index.site.coverage import Coverage, Outcomes, State
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.names import CudaVersion, ProjectName, StableTorch, TorchNeed, TorchVersion

COLUMNS: Final = 6


@dataclass(frozen=True, kw_only=True)
class MatrixCell:
    """What there is of one package for one torch."""

    state: State
    version: str | None = None
    """The newest that has wheels; of what is not built, the newest that is planned; None where nothing is."""
    is_newest: bool = True
    """Whether the package has no newer version with wheels."""


@dataclass(frozen=True, kw_only=True)
class MatrixRow:
    """One package."""

    project: ProjectName
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All packages."""

    torches: tuple[TorchVersion, ...]
    """The newest first."""
    rows: tuple[MatrixRow, ...]


def matrix_of(
    groups: Mapping[ProjectName, Sequence[WheelGroup]],
    torches: Mapping[CudaVersion, Sequence[TorchVersion]],
    coverage: Coverage,
) -> Matrix:
    """Lay all wheels over the plan.

    Args:
        groups: the wheels of each project, the newest version first.
        torches: those that have a tree, by CUDA.
        coverage: what the plan says of every cell.
    """
    planned: dict[ProjectName, list[tuple[str, Outcomes]]] = defaultdict(list)
    for (project, version), outcomes in coverage.items():
        planned[project].append((version, outcomes))
    columns = _newest(torches, coverage.values())
    rows = []
    for project, of_project in groups.items():
        versions = sorted(planned[project], key=lambda each: Version(each[0]), reverse=True)
        cells = tuple(_cell(torch, of_project, versions) for torch in columns)
        rows.append(MatrixRow(project=project, cells=cells))
    return Matrix(torches=columns, rows=tuple(rows))


def _newest(
    torches: Mapping[CudaVersion, Sequence[TorchVersion]], planned: Iterable[Outcomes]
) -> tuple[TorchVersion, ...]:
    """Of all that have a tree or that something is planned for."""
    wanted = {axes.torch for each in planned for rows in each.values() for axes in rows}
    known = {torch for torch in wanted.union(*torches.values()) if isinstance(torch, TorchVersion)}
    return tuple(sorted((torch for torch in known if not torch.is_candidate), reverse=True)[:COLUMNS])


def _cell(torch: TorchVersion, groups: Sequence[WheelGroup], planned: Sequence[tuple[str, Outcomes]]) -> MatrixCell:
    built = next((group.kind.version for group in groups if _is_for(group.kind.torch, torch)), None)
    if built:
        return MatrixCell(state=State.BUILT, version=built, is_newest=built == groups[0].kind.version)
    for version, outcomes in planned:
        states = {
            outcome.state
            for rows in outcomes.values()
            for axes, row in rows.items()
            if _is_for(axes.torch, torch)
            for outcome in row.values()
        }
        if state := next((each for each in (State.FAILED, State.MISSING) if each in states), None):
            return MatrixCell(state=state, version=version)
    return MatrixCell(state=State.SKIPPED)


def _is_for(needed: TorchNeed | None, torch: TorchVersion) -> bool:
    """Whether wheels that need this of torch do for one; those that need none do for all."""
    return needed is None or (torch in needed if isinstance(needed, StableTorch) else needed == torch)
