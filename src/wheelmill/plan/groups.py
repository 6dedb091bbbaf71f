"""Groups: cells that differ only in Python share a job and its compiler cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wheelmill.config.model import MAX_JOBS
from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget, Cell, Obstacle, Plan, Skip
from wheelmill.wheel.platforms import PLATFORMS

LONGEST_JOB: Final = 5 * 3600
"""Seconds after which a job of the workflows stops its builds, before its host ends it."""

_FURTHER_PYTHON: Final = 0.15
"""What a further Python of a job adds to the first one, whose objects are in the compiler cache: what
docs/performance.md has of two Pythons in one group."""


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

    @property
    def parts(self) -> int:
        """How many jobs compile a part of its source each, before another one links; 1 where that one does it all.

        Parts are not equal: where one job has no time for all, there is one more than equal parts would need.
        """
        package = self.targets[0].package
        if package.shards_per_wheel:
            return package.shards_per_wheel
        seconds = self.seconds_of(package.seconds or 0)
        return 1 if seconds <= LONGEST_JOB else min(MAX_JOBS, math.ceil(seconds / LONGEST_JOB) + 1)

    def seconds_of(self, one: int) -> float:
        """What all its wheels take in one job, by what the first takes for each GPU architecture."""
        return one * len(self.targets[0].architectures) * (1 + _FURTHER_PYTHON * (len(self.targets) - 1))


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Put targets that differ only in Python together, in the order of the plan."""
    groups: dict[str, list[BuildTarget]] = {}
    for target in plan.targets:
        groups.setdefault(target.cell.group, []).append(target)
    return tuple(Group(id=name, targets=tuple(targets)) for name, targets in groups.items())


def without_claimed(plan: Plan, claimed: Mapping[str, str]) -> Plan:
    """Skip the targets of groups that other runs build.

    Args:
        plan: the plan of a run.
        claimed: who builds each of these groups.
    """
    skips = (
        Skip(cell=target.cell, obstacle=Obstacle.CLAIMED, reason=claimed[target.cell.group])
        for target in plan.targets
        if target.cell.group in claimed
    )
    targets = (target for target in plan.targets if target.cell.group not in claimed)
    return Plan(targets=tuple(targets), skips=(*plan.skips, *skips))


def waiting_groups(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Those that cannot start yet: jobs run side by side, and these require wheels that others of them build."""
    made: dict[ProjectName, list[Cell]] = {}
    for group in groups:
        cell = group.targets[0].cell
        made.setdefault(cell.project, []).append(cell)
    return tuple(
        group
        for group in groups
        for first in (group.targets[0],)
        if any(
            first.cell.is_served_by(other)
            for project in first.package.expectations.requires
            for other in made.get(project, ())
        )
    )
