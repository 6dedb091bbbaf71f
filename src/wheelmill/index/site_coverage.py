"""Coverage: which combinations of a version there are wheels for, and why not for the others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from wheelmill.index.catalogue import Catalogue
from wheelmill.index.site_wheels import Variant
from wheelmill.names import CudaVersion, Platform, ProjectName, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.plan.records import Cell, Skip


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

    platform: Platform
    pythons: tuple[PythonVersion, ...]
    rows: Mapping[TorchVersion | None, tuple[Row, ...]]
    """Of each torch, the newest first."""
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


Outcomes = dict[Cell, Outcome]
Coverage = Mapping[tuple[ProjectName, str], Outcomes]
"""The cells of every version of every project."""

_NOT_PLANNED = Outcome(state=State.SKIPPED, reason="not planned")


def planned_coverage(catalogue: Catalogue | None) -> Coverage:
    """What the plan says of every cell, before any wheel is looked at."""
    coverage: dict[tuple[ProjectName, str], Outcomes] = {}
    if catalogue is None:
        return coverage
    for skip in catalogue.plan.skips:
        cells = coverage.setdefault((skip.cell.project, skip.cell.version), {})
        cells[skip.cell] = _why(skip)
    for target in catalogue.plan.targets:
        cells = coverage.setdefault((target.cell.project, target.cell.version), {})
        cells.update((replace(target.cell, python=python), Outcome(state=State.MISSING)) for python in target.pythons)
    return coverage


def _why(skip: Skip) -> Outcome:
    if failure := skip.failure:
        return Outcome(state=State.FAILED, reason=f"failed on {failure.failed_at:%Y-%m-%d}: {failure.reason}")
    return Outcome(state=State.SKIPPED, reason=skip.reason)


def grids_of(project: ProjectName, version: str, variants: Iterable[Variant], coverage: Coverage) -> tuple[Grid, ...]:
    """Lay the wheels of one version over the plan for it; a grid for every platform."""
    outcomes = dict(coverage.get((project, version), {}))
    labelled = [(variant, label) for variant in variants if (label := variant.kind.label)]
    wheels = [wheel for variant, _ in labelled for wheel in variant.wheels]
    pythons = {cell.python for cell in outcomes} | {wheel.pythons.oldest for wheel in wheels if wheel.pythons.oldest}
    for (variant, label), python in itertools.product(labelled, pythons):
        if any(wheel.pythons.let_in(python) for wheel in variant.wheels):
            cell = Cell(
                project=project,
                version=ProjectVersion(version),
                python=python,
                cuda=label.cuda,
                torch=label.torch,
                platform=variant.kind.platform,
            )
            outcomes[cell] = Outcome(state=State.BUILT)
    platforms = sorted({cell.platform for cell in outcomes}, reverse=True)
    return tuple(_grid(platform, outcomes) for platform in platforms)


def _grid(platform: Platform, outcomes: Outcomes) -> Grid:
    here = {cell: outcome for cell, outcome in outcomes.items() if cell.platform == platform}
    wanted = [cell for cell, outcome in here.items() if outcome.state is not State.SKIPPED]
    pythons = tuple(sorted({cell.python for cell in wanted}))
    newest_first = sorted({(cell.torch, cell.cuda) for cell in wanted}, key=_by_age, reverse=True)
    by_axes = {(cell.torch, cell.cuda, cell.python): outcome for cell, outcome in here.items()}
    rows: dict[TorchVersion | None, tuple[Row, ...]] = {}
    shown: Counter[Outcome] = Counter()
    for torch, cuda in newest_first:
        row = Row(cuda=cuda, outcomes=tuple(by_axes.get((torch, cuda, python), _NOT_PLANNED) for python in pythons))
        rows[torch] = (*rows.get(torch, ()), row)
        shown.update(row.outcomes)
    return Grid(
        platform=platform,
        pythons=pythons,
        rows=rows,
        counts=Counter(outcome.state for outcome in here.values()),
        failures=_reasons(State.FAILED, shown),
        skips=_reasons(State.SKIPPED, shown),
        outside=_reasons(State.SKIPPED, Counter(here.values()) - shown),
    )


def _reasons(state: State, outcomes: Counter[Outcome]) -> Reasons:
    of_state = [(outcome.reason, count) for outcome, count in outcomes.items() if outcome.state is state]
    return tuple(sorted(of_state, key=lambda item: (-item[1], item[0])))


def _by_age(axes: tuple[TorchVersion | None, CudaVersion]) -> tuple[object, ...]:
    torch, cuda = axes
    return (torch is not None, torch, cuda)
