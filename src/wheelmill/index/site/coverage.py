"""Coverage: combinations of a version with and without wheels, the matrix of all packages, and failed builds.

For each of the newest torches, the matrix shows a package's newest version with wheels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from packaging.version import Version

from wheelmill.index.site.wheels import Groups, SiteWheel, Trees, WheelGroup, wheels_folder
from wheelmill.names import CudaVersion, ProjectName, PythonVersion, TorchNeed, TorchVersion, admits
from wheelmill.plan.targets import Cell, KnownFailure, Plan, Skip
from wheelmill.wheel.label import age_of
from wheelmill.wheel.platforms import PLATFORMS


class State(StrEnum):
    """State of one cell."""

    BUILT = "built"
    MISSING = "missing"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOutcome:
    """Outcome of one cell, with the reason."""

    state: State
    reason: str = ""
    wheel: SiteWheel | None = None
    folder: str = ""
    """The folder of the wheels with its label, below that of its version."""


class Axes(NamedTuple):
    """CUDA and torch of the wheels of one row."""

    torch: TorchNeed | None
    cuda: CudaVersion | None
    """None where the label names no one release."""
    words: str
    """``13.0``, or the words of a label that names no single release: ``CUDA 12``, ``ROCm``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Row for one CUDA and torch, with every Python."""

    axes: Axes
    outcomes: tuple[CellOutcome, ...]


Reasons = tuple[tuple[str, int], ...]
"""Reasons with their numbers of cells, the most frequent first."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Coverage of one version on one platform: every CUDA, torch and Python with a wanted wheel."""

    platform: str
    pythons: tuple[PythonVersion, ...]
    """None where every wheel is for any Python 3: then each row has one outcome."""
    rows: tuple[Row, ...]
    """Ranges of torch, then the newest torch, first."""
    counts: Mapping[State, int]
    failures: Reasons
    skips: Reasons
    """Reasons of the cells in the grid."""
    outside: Reasons
    """Reasons of cells outside the rows and columns."""

    @property
    def wanted(self) -> int:
        """Number of cells that are wheels or should be."""
        return self.counts[State.BUILT] + self.counts[State.MISSING] + self.counts[State.FAILED]


OutcomeRow = dict[PythonVersion | None, CellOutcome]
"""Outcome for each Python; None stands for wheels that are for any."""
Outcomes = dict[str, dict[Axes, OutcomeRow]]
"""Outcome of every cell of one version, by platform."""
Coverage = Mapping[ProjectName, Mapping[str, Outcomes]]
"""Outcomes by project and version."""

_TITLES: Final = {str(platform): facts.title for platform, facts in PLATFORMS.items()}
_ORDER: Final = {platform: number for number, platform in enumerate(_TITLES)}
_MISSING: Final = CellOutcome(state=State.MISSING)
_NOT_PLANNED: Final = CellOutcome(state=State.SKIPPED, reason="not planned")


def platform_title(platform: str) -> str:
    """Return the platform's name for people if it has one: ``Linux x86_64``."""
    return _TITLES.get(platform, platform)


def planned_coverage(plan: Plan) -> Coverage:
    """Return the planned outcome of every cell, before any wheel is considered."""
    coverage: dict[ProjectName, dict[str, Outcomes]] = {}
    for skip in plan.skips:
        _row_of(skip.cell, coverage)[skip.cell.python] = _outcome_of(skip)
    for target in plan.targets:
        _row_of(target.cell, coverage).update(dict.fromkeys(target.pythons, _MISSING))
    return coverage


def _row_of(cell: Cell, coverage: dict[ProjectName, dict[str, Outcomes]]) -> OutcomeRow:
    platforms = coverage.setdefault(cell.project, {}).setdefault(cell.version, {})
    return platforms.setdefault(str(cell.platform), {}).setdefault(Axes(cell.torch, cell.cuda, str(cell.cuda)), {})


def _outcome_of(skip: Skip) -> CellOutcome:
    if failure := skip.failure:
        return CellOutcome(state=State.FAILED, reason=f"failed on {failure.failed_at:%Y-%m-%d}: {failure.reason}")
    return _skipped(skip.reason)


@lru_cache(maxsize=4096)
def _skipped(reason: str) -> CellOutcome:
    """Return one outcome for the thousands of cells with a reason."""
    return CellOutcome(state=State.SKIPPED, reason=reason)


def grids_of(groups: Sequence[WheelGroup], planned: Outcomes) -> tuple[Grid, ...]:
    """Lay the wheels of one version over the plan for it; return a grid for every platform."""
    outcomes = {platform: {axes: {**row} for axes, row in rows.items()} for platform, rows in planned.items()}
    pythons = {python for rows in planned.values() for row in rows.values() for python in row if python}
    pythons.update(each.oldest for group in groups for each in group.pythons if each.oldest)
    for group in groups:
        _enter(group, outcomes.setdefault(group.kind.platform, {}), pythons or {None})
    return tuple(_grid(platform, outcomes[platform]) for platform in sorted(outcomes, key=platform_order))


def platform_order(platform: str) -> tuple[int, str]:
    """Return a sort key: Linux first, then Windows, then the other platforms."""
    return (_ORDER.get(platform, len(_ORDER)), platform)


def _enter(group: WheelGroup, rows: dict[Axes, OutcomeRow], pythons: Iterable[PythonVersion | None]) -> None:
    """Enter the wheels of a group; a wheel for one Python covers one for many."""
    label = group.kind.label
    axes = Axes(group.planned_torch, label.cuda if label else None, str(label.cuda if label else group.kind.built_for))
    row = rows.setdefault(axes, {})
    folder = wheels_folder(group.kind.version, group.kind.exact_version)
    for wheel in group.wheels:
        built = CellOutcome(state=State.BUILT, wheel=wheel, folder=folder)
        if wheel.pythons.only:
            row[wheel.pythons.oldest] = built
        else:
            row.update((python, built) for python in pythons if python is None or wheel.pythons.allows(python))


def _grid(platform: str, outcomes: Mapping[Axes, OutcomeRow]) -> Grid:
    wanted = {
        axes: row for axes, row in outcomes.items() if any(each.state is not State.SKIPPED for each in row.values())
    }
    planned = {python for row in wanted.values() for python, each in row.items() if each.state is not State.SKIPPED}
    pythons = tuple(sorted(python for python in planned if python))
    rows = tuple(
        Row(axes=axes, outcomes=tuple(wanted[axes].get(python, _NOT_PLANNED) for python in pythons or (None,)))
        for axes in sorted(wanted, key=_by_age, reverse=True)
    )
    every = Counter((each.state, each.reason) for row in outcomes.values() for each in row.values())
    shown = Counter((each.state, each.reason) for row in rows for each in row.outcomes)
    counts = Counter(dict.fromkeys(State, 0))
    for (state, _), count in every.items():
        counts[state] += count
    return Grid(
        platform=platform,
        pythons=pythons,
        rows=rows,
        counts=counts,
        failures=_reasons(State.FAILED, shown),
        skips=_reasons(State.SKIPPED, shown),
        outside=_reasons(State.SKIPPED, every - shown),
    )


def _reasons(wanted: State, outcomes: Mapping[tuple[State, str], int]) -> Reasons:
    of_state = [(reason, count) for (state, reason), count in outcomes.items() if state is wanted]
    return tuple(sorted(of_state, key=lambda item: (-item[1], item[0])))


def _by_age(axes: Axes) -> tuple[object, ...]:
    return (age_of(axes.torch), axes.cuda is not None, axes.cuda, axes.words)


COLUMNS: Final = 6


@dataclass(frozen=True, kw_only=True)
class MatrixCell:
    """Availability of one package for one torch."""

    state: State
    version: str | None = None
    """Newest version with wheels, or else the newest planned one; None if there is neither."""
    is_newest: bool = True
    """True if no newer version of the package has wheels."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Matrix of all packages."""

    torches: tuple[TorchVersion, ...]
    """The newest first."""
    rows: tuple[tuple[ProjectName, tuple[MatrixCell, ...]], ...]
    """A package with its cells."""


def matrix_of(groups: Groups, torches: Trees, coverage: Coverage) -> Matrix:
    """Lay all wheels over the plan; `groups` has the newest version first, `torches` those with a tree, by CUDA."""
    columns = _newest(torches, coverage)
    rows = []
    for project, of_project in groups.items():
        planned = coverage.get(project, {}).items()
        versions = sorted(planned, key=lambda each: Version(each[0]), reverse=True)
        rows.append((project, tuple(_cell(torch, of_project, versions) for torch in columns)))
    return Matrix(torches=columns, rows=tuple(rows))


def _newest(torches: Trees, coverage: Coverage) -> tuple[TorchVersion, ...]:
    planned = (outcomes for versions in coverage.values() for outcomes in versions.values())
    wanted = {axes.torch for outcomes in planned for rows in outcomes.values() for axes in rows}
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
    """Return whether wheels with this torch requirement are for a torch; those without one are for all."""
    return needed is None or admits(needed, torch)


_SHOWN: Final = 20
"""Failures that are shown of a package; a log has 4,000 characters at most."""
_CELLS: Final = 40


@dataclass(frozen=True, kw_only=True)
class FailedBuilds:
    """Cells of one version whose builds failed for the same reason."""

    version: str
    newest: KnownFailure
    cells: tuple[Cell, ...]
    """The first of the cells."""
    count: int

    @property
    def run(self) -> str | None:
        """Address of the whole log; only that of a web page, since the ledger is not trusted."""
        return self.newest.run if self.newest.run and self.newest.run.startswith("https://") else None


@dataclass(frozen=True, kw_only=True)
class FailureTable:
    """Failed builds of one package."""

    builds: tuple[FailedBuilds, ...]
    """The newest version first, then what failed in most cells."""
    left_out: int


def failures_of(plan: Plan) -> Mapping[ProjectName, FailureTable]:
    """Return the failed builds that the plan skips, by package."""
    alike: dict[ProjectName, dict[tuple[str, str], list[tuple[KnownFailure, Cell]]]] = defaultdict(dict)
    for skip in plan.skips:
        if failure := skip.failure:
            of_project = alike[skip.cell.project]
            of_project.setdefault((skip.cell.version, failure.reason), []).append((failure, skip.cell))
    tables = {}
    for project, of_project in alike.items():
        builds = sorted(map(_builds, of_project.values()), key=lambda build: (-build.count, build.newest.reason))
        builds.sort(key=lambda build: Version(build.version), reverse=True)
        tables[project] = FailureTable(builds=tuple(builds[:_SHOWN]), left_out=len(builds[_SHOWN:]))
    return tables


def _builds(failed: Sequence[tuple[KnownFailure, Cell]]) -> FailedBuilds:
    newest, cell = max(failed, key=lambda each: (each[0].failed_at, each[1].id))
    cells = sorted((cell for _, cell in failed), key=lambda cell: cell.id)
    return FailedBuilds(version=cell.version, newest=newest, cells=tuple(cells[:_CELLS]), count=len(failed))
