"""Samples, groups and shards: how much of a plan is built, how it is spread over jobs, and what that will cost.

Cells that differ only in Python share a job and its compiler cache. A shard is one matrix of jobs whose wheels are
attested and released together, so it has no more wheels than a release takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import mean
from typing import Final

from packaging.version import Version

from wheelmill.names import CudaVersion, Platform, ProjectName, PythonVersion
from wheelmill.plan.targets import BuildTarget, Obstacle, PastBuild, Plan, Skip
from wheelmill.wheel.platforms import PLATFORMS

MAX_JOBS: Final = 256
"""Of one matrix (https://docs.github.com/en/actions/reference/limits)."""

MAX_ATTESTED: Final = 1024
"""Files of one attestation (https://github.com/actions/attest/pull/164)."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Targets that one job builds."""

    id: str
    targets: tuple[BuildTarget, ...]
    """They differ in Python only."""

    @property
    def runner(self) -> str:
        """The label of the machines that build it."""
        first = self.targets[0]
        return first.package.runner or PLATFORMS[first.cell.platform].runners[-1]


def sample_of(plan: Plan) -> Plan:
    """Keep a few targets that stand for many, as a pull request builds them.

    They are the two ends of each package on each platform: its oldest and its newest version, CUDA, torch and Python.
    """
    by_package: dict[tuple[ProjectName, Platform], list[BuildTarget]] = {}
    for target in plan.targets:
        by_package.setdefault((target.cell.project, target.cell.platform), []).append(target)
    ends = {choose(targets, key=age_of).cell for targets in by_package.values() for choose in (min, max)}
    kept = tuple(target for target in plan.targets if target.cell in ends)
    others = (
        Skip(cell=target.cell, obstacle=Obstacle.NOT_SAMPLED, reason="not in the sample (--sample)")
        for target in plan.targets
        if target.cell not in ends
    )
    return replace(plan, targets=kept, skips=(*plan.skips, *others))


def age_of(target: BuildTarget) -> tuple[Version, CudaVersion, Version, PythonVersion]:
    """What makes one target newer than another: its version, CUDA, torch and Python, in this order."""
    cell = target.cell
    return Version(cell.version), cell.cuda, Version(target.torch_release or "0"), cell.python


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Put targets that differ only in Python together, in the order of the plan."""
    groups: dict[str, list[BuildTarget]] = {}
    for target in plan.targets:
        groups.setdefault(target.cell.group, []).append(target)
    return tuple(Group(id=name, targets=tuple(targets)) for name, targets in groups.items())


def waiting_groups(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Those that cannot start yet: jobs run side by side, and these require wheels that others of them build."""
    made = {_place(group, group.targets[0].cell.project) for group in groups}
    return tuple(
        group
        for group in groups
        if any(_place(group, project) in made for project in group.targets[0].package.expectations.requires)
    )


def _place(group: Group, project: ProjectName) -> tuple[object, ...]:
    """What the wheels of a project share that can stand beside those of a group."""
    return project, group.targets[0].cell.stack


def shards_of(groups: Iterable[Group], *, wheels: int | None) -> tuple[tuple[Group, ...], ...]:
    """Divide groups among shards whose wheels fit one release; each group stands in one.

    Args:
        groups: in the order in which they are put into shards.
        wheels: how many one release holds; None where it sets no limit.
    """
    most = min(wheels or MAX_ATTESTED, MAX_ATTESTED)
    shards: list[list[Group]] = []
    left = 0
    for group in groups:
        if left < len(group.targets) or len(shards[-1]) == MAX_JOBS:
            shards.append([])
            left = most
        shards[-1].append(group)
        left -= len(group.targets)
    return tuple(map(tuple, shards))


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan will cost, judged by the wheels that were built before."""

    wheels: int
    """Those that the figures speak of."""
    unknown: int
    """Wheels of projects that were never built before; they are not in the figures."""
    jobs: int
    """Groups, each of which is one job."""
    runners: int
    """Machines that work at the same time."""
    machine_hours: float
    """Of all machines together."""
    hours: float
    """Until the last machine is done, when long jobs start first."""
    size: int
    """Bytes."""


def estimate(plan: Plan, past: Iterable[PastBuild], *, runners: int | None = None) -> Estimate:
    """Add up what the targets' projects cost on average before.

    Args:
        plan: the plan whose hours are wanted.
        past: the builds of published wheels, with their seconds and bytes.
        runners: machines that work at the same time; None has one for each job.
    """
    records: dict[ProjectName, list[PastBuild]] = {}
    for build in past:
        records.setdefault(build.project, []).append(build)
    seconds = {project: mean(build.seconds for build in builds) for project, builds in records.items()}
    sizes = {project: mean(build.size for build in builds) for project, builds in records.items()}
    groups = groups_of(plan)
    known = [target.cell.project for target in plan.targets if target.cell.project in records]
    by_job = [len(group.targets) * seconds.get(group.targets[0].cell.project, 0) / 3600 for group in groups]
    machines = runners or max(1, len(groups))
    return Estimate(
        wheels=len(known),
        unknown=len(plan.targets) - len(known),
        jobs=len(groups),
        runners=machines,
        machine_hours=sum(by_job),
        hours=_until_the_last(by_job, machines),
        size=round(sum(sizes[project] for project in known)),
    )


def _until_the_last(jobs: Iterable[float], machines: int) -> float:
    """When the last of some machines is done that each take the longest job left."""
    busy = [0.0] * machines
    for job in sorted(jobs, reverse=True):
        heapq.heapreplace(busy, busy[0] + job)
    return max(busy)
