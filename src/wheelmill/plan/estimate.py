"""What a plan will cost: as published wheels did, else as its packages say, else a guess."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wheelmill.plan.groups import Group, groups_of
from wheelmill.plan.targets import PastBuilds, Plan

GUESSED_SECONDS: Final = 600
"""For each GPU architecture of a wheel of which nothing is known: between those that docs/performance.md has."""

_SET_UP: Final = 0.1
"""Hours of each job of a wheel that several compile, beside compiling: images, torch, linking, clean environments."""


class Basis(StrEnum):
    """What the hours of a job are judged by: the first of these that there is."""

    MEASURED = "measured"
    """What published wheels of the project took on average."""
    PRIOR = "prior"
    """``seconds`` of its entry in ``packages.yml``."""
    GUESS = "guess"
    """`GUESSED_SECONDS` for each GPU architecture."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of an estimate that has one basis."""

    wheels: int
    machine_hours: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan will cost, judged by the wheels that were built before as far as there are any."""

    wheels: int
    """Those of projects that published wheels tell of."""
    unknown: int
    """Those of other projects."""
    jobs: int
    """Each builds a group, or compiles a part of one."""
    runners: int
    """Machines that work at the same time."""
    machine_hours: float
    """Of all machines together."""
    hours: float
    """Until the last machine is done, when long jobs start first."""
    size: int
    """Bytes of the wheels that published ones tell of."""
    shares: Mapping[Basis, Share]
    """How far the hours are to be trusted."""


def estimate(plan: Plan, past: PastBuilds, *, runners: int | None = None) -> Estimate:
    """Add up what the targets' projects cost on average before, or else what is thought of them.

    Args:
        plan: the plan whose hours are wanted.
        past: what published wheels of the projects cost.
        runners: machines that work at the same time; None has one for each job.
    """
    known = [past[target.cell.project] for target in plan.targets if target.cell.project in past]
    judged = [(group, *_hours_of(group, past)) for group in groups_of(plan)]
    jobs = [_jobs_of(group, hours) for group, _, hours in judged]
    by_job = [hours for own in jobs for hours in own]
    machines = runners or max(1, len(by_job))
    return Estimate(
        wheels=len(known),
        unknown=len(plan.targets) - len(known),
        jobs=len(by_job),
        runners=machines,
        machine_hours=sum(by_job),
        hours=max([_until_the_last(by_job, machines), *(own[0] + own[-1] for own in jobs if len(own) > 1)]),
        size=sum(each.size for each in known),
        shares={
            basis: Share(
                wheels=sum(len(group.targets) for group, own, _ in judged if own is basis),
                machine_hours=sum(sum(own) for own, (_, by, _) in zip(jobs, judged, strict=True) if by is basis),
            )
            for basis in Basis
        },
    )


def _hours_of(group: Group, past: PastBuilds) -> tuple[Basis, float]:
    """What a group takes in one job, and how that is known.

    Published wheels do not tell it of a group that several jobs compile: they know the last job's time.

    Args:
        group: the targets.
        past: what published wheels of the projects cost.
    """
    first, wheels = group.targets[0], len(group.targets)
    measured = past.get(first.cell.project)
    if measured and not (group.parts > 1 and first.package.seconds):
        return Basis.MEASURED, wheels * measured.seconds / 3600
    basis, one = (Basis.PRIOR, first.package.seconds) if first.package.seconds else (Basis.GUESS, GUESSED_SECONDS)
    return basis, group.seconds_of(one) / 3600


def _jobs_of(group: Group, hours: float) -> Sequence[float]:
    """What each of a group's jobs takes; where there are several, the last one links when the others are done."""
    parts = group.parts
    return [hours] if parts == 1 else [*[hours / parts + _SET_UP] * parts, _SET_UP]


def _until_the_last(jobs: Iterable[float], machines: int) -> float:
    """When the last of some machines is done that each take the longest job left."""
    busy = [0.0] * machines
    for job in sorted(jobs, reverse=True):
        heapq.heapreplace(busy, busy[0] + job)
    return max(busy)
