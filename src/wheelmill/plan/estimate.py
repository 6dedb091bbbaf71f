"""What a plan will cost: judged by published wheels, else by what its packages say, else a guess."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wheelmill.plan.groups import Group, groups_of
from wheelmill.plan.targets import PastBuilds, Plan

GUESSED_SECONDS: Final = 600
"""For each GPU architecture of a wheel of which nothing is known: between those that docs/performance.md has."""

GUESSED_SIZE: Final = 64_000_000
"""Bytes, the same: a wheel of flash-attn, the largest that ships, has 250 MB for four. Too many make small shards."""

_SET_UP: Final = 0.1
"""Hours of each job of a wheel that several compile, beside compiling: images, torch, linking, clean environments."""


class Basis(StrEnum):
    """What the hours of a job are judged by: the first of these that is known."""

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


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a group is thought to cost."""

    basis: Basis
    jobs: Sequence[float]
    """Hours of each of its jobs; where there are several, the last one links when the others are done."""
    size: int
    """Bytes of its wheels."""


def cost_of(group: Group, past: PastBuilds) -> Cost:
    """Judge a group by published wheels, else by what its package says, else by a guess.

    Published wheels do not tell the hours of a group that several jobs compile: they know the last job's time.

    Args:
        group: the targets.
        past: what published wheels of the projects cost.
    """
    first, wheels, parts = group.targets[0], len(group.targets), group.parts
    known = past.get(first.cell.project)
    if known and not (parts > 1 and first.package.seconds):
        basis, hours = Basis.MEASURED, wheels * known.seconds / 3600
    else:
        basis = Basis.PRIOR if first.package.seconds else Basis.GUESS
        hours = group.seconds_of(first.package.seconds or GUESSED_SECONDS) / 3600
    return Cost(
        basis=basis,
        jobs=[hours] if parts == 1 else [*[hours / parts + _SET_UP] * parts, _SET_UP],
        size=wheels * (known.size if known else GUESSED_SIZE * len(first.architectures)),
    )


def estimate(plan: Plan, past: PastBuilds, *, runners: int | None = None) -> Estimate:
    """Add up what the groups of a plan cost.

    Args:
        plan: the plan whose hours are wanted.
        past: what published wheels of the projects cost.
        runners: machines that work at the same time; None has one for each job.
    """
    known = [past[target.cell.project] for target in plan.targets if target.cell.project in past]
    costs = [(len(group.targets), cost_of(group, past)) for group in groups_of(plan)]
    by_job = [hours for _, cost in costs for hours in cost.jobs]
    machines = runners or max(1, len(by_job))
    in_turn = [cost.jobs[0] + cost.jobs[-1] for _, cost in costs if len(cost.jobs) > 1]
    return Estimate(
        wheels=len(known),
        unknown=len(plan.targets) - len(known),
        jobs=len(by_job),
        runners=machines,
        machine_hours=sum(by_job),
        hours=max([_until_the_last(by_job, machines), *in_turn]),
        size=sum(each.size for each in known),
        shares={
            basis: Share(
                wheels=sum(wheels for wheels, cost in costs if cost.basis is basis),
                machine_hours=sum(sum(cost.jobs) for _, cost in costs if cost.basis is basis),
            )
            for basis in Basis
        },
    )


def _until_the_last(jobs: Collection[float], machines: int) -> float:
    """When the last machine is done, if each takes the longest job left."""
    busy = [0.0] * max(1, min(machines, len(jobs)))  # any others never begin
    for job in sorted(jobs, reverse=True):
        heapq.heapreplace(busy, busy[0] + job)
    return max(busy)
