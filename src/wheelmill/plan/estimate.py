"""What a plan will cost, judged by the wheels that were built before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from wheelmill.names import ProjectName
from wheelmill.plan.records import PastBuild, Plan


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The cost of a plan."""

    wheels: int
    """Those that the figures speak of."""
    unknown: int
    """Wheels of projects that were never built before; they are not in the figures."""
    hours: float
    """Of one machine after the other."""
    size: int
    """Bytes."""


def estimate(plan: Plan, past: Iterable[PastBuild]) -> Estimate:
    """Add up what the targets' projects cost on average before."""
    records: dict[ProjectName, list[PastBuild]] = {}
    for build in past:
        records.setdefault(build.project, []).append(build)
    seconds = {project: mean(build.seconds for build in builds) for project, builds in records.items()}
    sizes = {project: mean(build.size for build in builds) for project, builds in records.items()}
    known = [target.cell.project for target in plan.targets if target.cell.project in records]
    return Estimate(
        wheels=len(known),
        unknown=len(plan.targets) - len(known),
        hours=sum(seconds[project] for project in known) / 3600,
        size=round(sum(sizes[project] for project in known)),
    )
