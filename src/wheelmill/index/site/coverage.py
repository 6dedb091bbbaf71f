"""Coverage: which combinations of a version there are wheels for, and why not for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from wheelmill.index.site.pythons import covered_pythons
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.index.tree import Catalogue
from wheelmill.names import CudaVersion, ProjectName, PythonVersion, TorchNeed
from wheelmill.plan.targets import Cell, Skip
from wheelmill.wheel.torch_need import age_of


class State(StrEnum):
    """What became of one cell."""

    BUILT = "built"
    MISSING = "missing"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one cell, and why."""

    state: State
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One CUDA of a torch, with every Python."""

    cuda: CudaVersion
    outcomes: tuple[Outcome, ...]


Reasons = tuple[tuple[str, int], ...]
"""Each with the number of cells that it is given for, the most frequent first."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The coverage of one version on one platform: every CUDA, torch and Python that some wheel is wanted for."""

    platform: str
    pythons: tuple[PythonVersion, ...]
    rows: Mapping[TorchNeed | None, tuple[Row, ...]]
    """Of each torch, ranges and the newest first."""
    counts: Counter[State]
    failures: Reasons
    skips: Reasons
    """Of cells in the grid."""
    outside: Reasons
    """Of cells that no row or column is shown for."""

    @property
    def wanted(self) -> int:
        """How many cells are wheels or should be."""
        return self.counts[State.BUILT] + self.counts[State.MISSING] + self.counts[State.FAILED]


Axes = tuple[TorchNeed | None, CudaVersion]
Outcomes = dict[str, dict[Axes, dict[PythonVersion, Outcome]]]
"""What became of every cell of one version."""
Coverage = Mapping[tuple[ProjectName, str], Outcomes]

_BUILT = Outcome(state=State.BUILT)
_MISSING = Outcome(state=State.MISSING)
_NOT_PLANNED = Outcome(state=State.SKIPPED, reason="not planned")


def planned_coverage(catalogue: Catalogue | None) -> Coverage:
    """What the plan says of every cell, before any wheel is looked at."""
    coverage: dict[tuple[ProjectName, str], Outcomes] = {}
    if catalogue is None:
        return coverage
    for skip in catalogue.plan.skips:
        _row_of(skip.cell, coverage)[skip.cell.python] = _why(skip)
    for target in catalogue.plan.targets:
        _row_of(target.cell, coverage).update(dict.fromkeys(target.pythons, _MISSING))
    return coverage


def _row_of(cell: Cell, coverage: dict[tuple[ProjectName, str], Outcomes]) -> dict[PythonVersion, Outcome]:
    platforms = coverage.setdefault((cell.project, cell.version), {})
    return platforms.setdefault(str(cell.platform), {}).setdefault((cell.torch, cell.cuda), {})


def _why(skip: Skip) -> Outcome:
    if failure := skip.failure:
        return Outcome(state=State.FAILED, reason=f"failed on {failure.failed_at:%Y-%m-%d}: {failure.reason}")
    return Outcome(state=State.SKIPPED, reason=skip.reason)


def grids_of(project: ProjectName, version: str, groups: Iterable[WheelGroup], coverage: Coverage) -> tuple[Grid, ...]:
    """Lay the wheels of one version over the plan for it; a grid for every platform."""
    planned = coverage.get((project, version), {})
    outcomes = {platform: {axes: {**row} for axes, row in rows.items()} for platform, rows in planned.items()}
    labelled = [(group, label) for group in groups if (label := group.kind.label)]
    pythons = {python for rows in planned.values() for row in rows.values() for python in row}
    pythons.update(each.oldest for group, _ in labelled for each in group.pythons if each.oldest)
    every_python = tuple(sorted(pythons))
    for group, label in labelled:
        row = outcomes.setdefault(group.kind.platform, {}).setdefault((group.planned_torch, label.cuda), {})
        row.update(dict.fromkeys(covered_pythons(every_python, group.pythons), _BUILT))
    return tuple(_grid(platform, outcomes[platform]) for platform in sorted(outcomes, reverse=True))


def _grid(platform: str, outcomes: Mapping[Axes, Mapping[PythonVersion, Outcome]]) -> Grid:
    wanted = {
        axes: row for axes, row in outcomes.items() if any(each.state is not State.SKIPPED for each in row.values())
    }
    pythons = tuple(
        sorted({python for row in wanted.values() for python, each in row.items() if each.state is not State.SKIPPED})
    )
    rows: dict[TorchNeed | None, tuple[Row, ...]] = {}
    for torch, cuda in sorted(wanted, key=_by_age, reverse=True):
        row = tuple(wanted[torch, cuda].get(python, _NOT_PLANNED) for python in pythons)
        rows[torch] = (*rows.get(torch, ()), Row(cuda=cuda, outcomes=row))
    every = Counter(outcome for row in outcomes.values() for outcome in row.values())
    shown = Counter(outcome for each in rows.values() for row in each for outcome in row.outcomes)
    return Grid(
        platform=platform,
        pythons=pythons,
        rows=rows,
        counts=Counter(outcome.state for outcome in every.elements()),
        failures=_reasons(State.FAILED, shown),
        skips=_reasons(State.SKIPPED, shown),
        outside=_reasons(State.SKIPPED, every - shown),
    )


def _reasons(state: State, outcomes: Counter[Outcome]) -> Reasons:
    of_state = [(outcome.reason, count) for outcome, count in outcomes.items() if outcome.state is state]
    return tuple(sorted(of_state, key=lambda item: (-item[1], item[0])))


def _by_age(axes: Axes) -> tuple[object, ...]:
    torch, cuda = axes
    return age_of(torch), cuda
