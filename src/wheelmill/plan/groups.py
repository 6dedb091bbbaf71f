"""Groups, shards and estimates: the division of targets among jobs, and the expected cost.

Cells of a group differ only in Python and share a job and its compiler cache. Groups of a shard are one matrix of jobs,
whose wheels are released together. Costs come from published wheels, else from package entries, else from the source:
the time to compile its code is fitted to measured builds, whose conditions are in docs/performance.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from enum import StrEnum
from statistics import geometric_mean, mean, median
from typing import Final, TypeVar

from wheelmill.config.model.config import Config
from wheelmill.config.model.files import LockedCommit, LockedSdist, SourceCode
from wheelmill.config.model.package_fields import MAX_JOBS
from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget, Cell, PastBuilds, Plan, Skip
from wheelmill.wheel.platforms import PLATFORMS

LONGEST_JOB: Final = 5 * 3600
"""Seconds after which a job of the workflows stops its builds, before its host ends it."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Targets that one job builds."""

    id: str
    targets: tuple[BuildTarget, ...]
    """Targets that differ in Python only."""

    @property
    def runner(self) -> str:
        """Label of the machines that build it."""
        first = self.targets[0]
        return first.package.runner or PLATFORMS[first.cell.platform].runners[-1]

    @property
    def parts(self) -> int:
        """Number of jobs that compile a part of the source before another links: 1, or one more than equal parts."""
        package = self.targets[0].package
        if package.shards_per_wheel:
            return package.shards_per_wheel
        seconds = self.seconds_of((package.seconds or 0) * len(self.targets[0].architectures))
        return 1 if seconds <= LONGEST_JOB else min(MAX_JOBS, math.ceil(seconds / LONGEST_JOB) + 1)

    @property
    def artifacts(self) -> int:
        """Number of artifacts that its jobs upload: parts, wheels, a report, certificates of a GPU, attestations."""
        return 4 + (self.parts if self.parts > 1 else 0)

    def seconds_of(self, first: float) -> float:
        """Return the seconds for all its wheels in one job, given those of the first."""
        return first * (1 + further_python(self.code) * (len(self.targets) - 1))

    @property
    def code(self) -> SourceCode | None:
        """Code of its source; None if the lock does not know it."""
        source = self.targets[0].source
        return source.code if isinstance(source, LockedSdist | LockedCommit) else None


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Group targets that differ only in Python, in the order of the plan."""
    groups: dict[str, list[BuildTarget]] = {}
    for target in plan.targets:
        groups.setdefault(target.cell.group, []).append(target)
    return tuple(Group(id=name, targets=tuple(targets)) for name, targets in groups.items())


def without_claimed(plan: Plan, claimed: Mapping[str, Skip]) -> Plan:
    """Skip the targets of groups that other runs build; `claimed` has a skipped cell of each group, by name."""
    skips = (
        replace(claimed[target.cell.group], cell=target.cell) for target in plan.targets if target.cell.group in claimed
    )
    return replace(
        plan,
        targets=tuple(target for target in plan.targets if target.cell.group not in claimed),
        skips=(*plan.skips, *skips),
        claimed=tuple(skip.cell for skip in claimed.values()),
    )


def waiting_groups(planned: Plan) -> Mapping[str, frozenset[str]]:
    """Map each group that must wait to the groups of this or another run with its required wheels."""
    made: dict[ProjectName, list[Cell]] = {}
    groups = groups_of(planned)
    for cell in (*(group.targets[0].cell for group in groups), *planned.claimed):
        made.setdefault(cell.project, []).append(cell)
    required = {
        group.id: frozenset(
            other.group
            for project in group.targets[0].package.expectations.requires
            for other in made.get(project, ())
            if group.targets[0].cell.is_served_by(other)
        )
        for group in groups
    }
    return {name: others for name, others in required.items() if others}


Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Load:
    """Load of groups on the jobs that build and release them; also used as a limit of it."""

    wheels: float = 0
    size: float = 0
    """Bytes of the wheels."""
    machine_hours: float = 0
    text: float = 0
    """Characters of the JSON that their jobs are given."""
    artifacts: float = 0
    """Artifacts that their jobs upload."""

    def __add__(self, other: Load) -> Load:
        """Return the load of both."""
        return Load(**{name: own + getattr(other, name) for name, own in asdict(self).items()})

    def fits(self, limit: Load) -> bool:
        """Return whether the load is within a limit."""
        return all(own <= most for own, most in zip(astuple(self), astuple(limit), strict=True))


MACHINES: Final = 20
"""Jobs that a free plan runs side by side (https://docs.github.com/en/actions/reference/limits)."""

_MAX_ARTIFACTS: Final = 800
"""Artifacts of the groups of a run. actions/download-artifact lists those of the whole run before it filters them, and
stops at 1,000 (``ACTIONS_ARTIFACT_MAX_ARTIFACT_COUNT``); shards upload one more each, and jobs that run again all."""

SHARD: Final = Load(wheels=math.inf, size=30e9, machine_hours=MACHINES * 24, text=80_000, artifacts=_MAX_ARTIFACTS)
"""The most of one shard. Its jobs end within a day. Its release has 300 minutes: the changes of 240 wheels, each with
its sidecar, bill of materials and provenance, take 142 of them right after another release, and 30 GB take 100 at 10
MB/s, down and up again. GitHub indents its JSON, which adds a third, and a job is given it in a variable: Linux takes
131,072 bytes in one (``MAX_ARG_STRLEN`` of execve(2))."""

RUN: Final = Load(
    wheels=math.inf, size=math.inf, machine_hours=MACHINES * 24 * 5, text=400_000, artifacts=_MAX_ARTIFACTS
)
"""The most of all shards of one run. What a part compiled is kept for a week, and the job that links it may come last.
What a job hands on is a megabyte at most, counted as UTF-16
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idoutputs)."""


def divide(items: Iterable[Item], load_of: Callable[[Item], Load], limit: Load) -> tuple[Sequence[Item], ...]:
    """Divide groups among shards, or shards among runs, in their order; an item above the limit stands alone."""
    divided: list[list[Item]] = []
    total = Load()
    for item in items:
        load = load_of(item)
        total += load
        if not divided or len(divided[-1]) == MAX_JOBS or not total.fits(limit):
            divided.append([])
            total = load
        divided[-1].append(item)
    return tuple(divided)


# fmt: off
_BUILDS: Final = {
    "causal-conv1d": (4, 279), "chamferdist": (3, 394), "diso": (3, 198), "flash-attn": (132, 12_240),
    "grouped-gemm": (2, 439), "mamba-ssm": (10, 1818), "nerfacc": (5, 470), "nv-grouped-gemm": (4, 830),
    "pycuda": (1, 212), "spatial-correlation-sampler": (3, 221), "torch-cluster": (16, 2999),
    "torch-scatter": (7, 1136), "torch-sparse": (16, 2296), "torch-spline-conv": (5, 507), "torchsort": (2, 260),
    "warp-rnnt": (4, 153),
}
# fmt: on
"""Compilations, as packages.lock counts them, and seconds for sm_90 and one Python: "Builds", "The catalogue", "Two
Pythons in one group" and "flash-attn" in docs/performance.md."""

_REPEATED: Final = ((279, 340), (394, 234), (439, 332), (1136, 748), (260, 258), (153, 180))
"""Seconds of two builds of the same package, from the same tables."""

_SECOND_PYTHON: Final = {True: 561 / 657, False: mean([43 / 340, 115 / 748, 72 / 507])}
"""Seconds of a group's second Python for each of the first one, by whether CUDA files include ``Python.h``; if not, the
second one finds their objects in the compiler cache ("Two Pythons in one group")."""


def _spread(ratios: Iterable[float]) -> float:
    """Return the factor that four of five ratios of an estimate to a measurement are within, either way."""
    factors = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    return factors[math.ceil(0.8 * len(factors)) - 1]


COMPILATION_SECONDS: Final = geometric_mean(seconds / count for count, seconds in _BUILDS.values())
"""The fit: half the time is as wrong as twice the time."""
TYPICAL_SECONDS: Final = round(median(seconds for _, seconds in _BUILDS.values()))
"""Seconds for each GPU architecture of a source whose code is not known."""


def seconds_of_code(code: SourceCode, architectures: int) -> float:
    """Estimate the seconds of a build for one Python: CUDA files are compiled for each GPU architecture."""
    return COMPILATION_SECONDS * ((code.cuda_files or 0) * architectures + (code.bindings or 0))


def further_python(code: SourceCode | None) -> float:
    """Return the cost of a further Python of a group relative to the first one; unknown code counts as cached."""
    return _SECOND_PYTHON[code is not None and code.includes_python]


def fit_of(config: Config) -> Iterator[tuple[ProjectName, float, int]]:
    """Yield packages with `seconds` and known code: the estimated and the measured seconds for one architecture."""
    for package in config.packages.values():
        for source in (config.lock.source_of(package, version) for version in package.versions[-1:]):
            if package.seconds and isinstance(source, LockedSdist | LockedCommit) and source.code:
                yield package.name, seconds_of_code(source.code, 1), package.seconds


GUESSED_SIZE: Final = 64_000_000
"""Bytes for each GPU architecture: a wheel of flash-attn, the largest that ships, has 250 MB for four. Too many make
small shards."""

_SET_UP: Final = 0.1
"""Hours of each job of a wheel that several compile, beside compiling: images, torch, linking, clean environments."""


class Basis(StrEnum):
    """Evidence for the hours of a job: the first of these that is known."""

    MEASURED = "measured"
    """Average of published wheels of the project."""
    PRIOR = "prior"
    """``seconds`` of its entry in ``packages.yml``."""
    CODE = "code"
    """Code of the source in ``packages.lock``."""
    GUESS = "guess"
    """`TYPICAL_SECONDS` for each GPU architecture."""


_SPREADS: Final[Mapping[Basis, float]] = {
    Basis.MEASURED: 1,
    Basis.PRIOR: _spread(again / seconds for seconds, again in _REPEATED),
    Basis.CODE: _spread(COMPILATION_SECONDS * count / seconds for count, seconds in _BUILDS.values()),
    Basis.GUESS: _spread(TYPICAL_SECONDS / seconds for _, seconds in _BUILDS.values()),
}
"""Factor that the hours may be off by, either way."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of an estimate that has one basis."""

    wheels: int
    machine_hours: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Cost of a plan, judged by published wheels as far as there are any."""

    wheels: int
    """Wheels of projects with published wheels."""
    unknown: int
    """Wheels of other projects."""
    jobs: int
    """Each builds a group, or compiles a part of one."""
    runners: int
    """Machines that work at the same time."""
    machine_hours: float
    """Hours of all machines together."""
    hours: float
    """Until the last machine is done, when long jobs start first."""
    hours_low: float
    """The same if every job is as short as it may be by its evidence."""
    hours_high: float
    """The same if every job is as long."""
    size: int
    """Bytes of the wheels that published ones tell of."""
    shares: Mapping[Basis, Share]
    """Share of the hours by their evidence."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Estimated cost of a group."""

    basis: Basis
    jobs: Sequence[float]
    """Hours of each of its jobs; where there are several, the last one links when the others are done."""
    size: int
    """Bytes of its wheels."""


def cost_of(group: Group, past: PastBuilds) -> Cost:
    """Estimate the cost of a group by published wheels, if one job built them, else its entry, code, or a guess."""
    first, wheels, parts = group.targets[0], len(group.targets), group.parts
    architectures = len(first.architectures)
    known = past.get(first.cell.project)
    if known and not (parts > 1 and first.package.seconds):
        basis, hours = Basis.MEASURED, wheels * known.seconds / 3600
    elif first.package.seconds:
        basis, hours = Basis.PRIOR, group.seconds_of(first.package.seconds * architectures) / 3600
    elif group.code:
        basis, hours = Basis.CODE, group.seconds_of(seconds_of_code(group.code, architectures)) / 3600
    else:
        basis, hours = Basis.GUESS, group.seconds_of(TYPICAL_SECONDS * architectures) / 3600
    return Cost(
        basis=basis,
        jobs=[hours] if parts == 1 else [*[hours / parts + _SET_UP] * parts, _SET_UP],
        size=wheels * (known.size if known else GUESSED_SIZE * architectures),
    )


def estimate(plan: Plan, past: PastBuilds, *, runners: int | None = None) -> Estimate:
    """Add up the costs of a plan's groups; `runners` machines work at the same time at most, None is no limit."""
    known = [past[target.cell.project] for target in plan.targets if target.cell.project in past]
    costs = [(len(group.targets), cost_of(group, past)) for group in groups_of(plan)]
    by_job = [hours for _, cost in costs for hours in cost.jobs]
    machines = max(1, min(runners or len(by_job), len(by_job)))

    def hours_if(direction: int) -> float:
        """Return the hours until all is done, the longest job first, with each job off by its spread."""
        scaled = [[hours * _SPREADS[cost.basis] ** direction for hours in cost.jobs] for _, cost in costs]
        busy = [0.0] * machines
        for job in sorted((hours for jobs in scaled for hours in jobs), reverse=True):
            heapq.heapreplace(busy, busy[0] + job)
        return max([*busy, *(jobs[0] + jobs[-1] for jobs in scaled if len(jobs) > 1)])

    low, hours, high = sorted(map(hours_if, (-1, 0, 1)))  # shorter jobs may end later when their order changes
    return Estimate(
        wheels=len(known),
        unknown=len(plan.targets) - len(known),
        jobs=len(by_job),
        runners=machines,
        machine_hours=sum(by_job),
        hours=hours,
        hours_low=low,
        hours_high=high,
        size=sum(each.size for each in known),
        shares={
            basis: Share(
                wheels=sum(wheels for wheels, cost in costs if cost.basis is basis),
                machine_hours=sum(sum(cost.jobs) for _, cost in costs if cost.basis is basis),
            )
            for basis in Basis
        },
    )
