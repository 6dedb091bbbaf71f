"""Groups: cells that differ only in Python share a job and its compiler cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from wheelmill.config.model import MAX_JOBS
from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget, Cell, Plan, Skip
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


def without_claimed(plan: Plan, claimed: Mapping[str, Skip]) -> Plan:
    """Skip the targets of groups that other runs build.

    Args:
        plan: the plan of a run.
        claimed: a skipped cell of each of these groups, by their names.
    """
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
    """Groups that cannot start yet, since they require wheels that other jobs of this or another run are building.

    Returns:
        By the name of each, the groups that build what it requires.
    """
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
