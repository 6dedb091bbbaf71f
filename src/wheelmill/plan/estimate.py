"""What a plan will cost, judged by the wheels that were built before."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from wheelmill.names import ProjectName
from wheelmill.plan.groups import groups_of
from wheelmill.plan.targets import PastBuild, Plan


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The cost of a plan."""

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
