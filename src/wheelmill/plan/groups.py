"""Groups and shards: how a plan is spread over jobs.

Cells that differ only in Python share a job and its compiler cache. A shard is one matrix of jobs whose wheels are
attested and released together, so it has no more wheels than a release takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget, Cell, Plan
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


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Put targets that differ only in Python together, in the order of the plan."""
    groups: dict[str, list[BuildTarget]] = {}
    for target in plan.targets:
        groups.setdefault(target.cell.group, []).append(target)
    return tuple(Group(id=name, targets=tuple(targets)) for name, targets in groups.items())


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
