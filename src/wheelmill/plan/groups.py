"""Groups and shards: how a plan is spread over jobs.

Cells that differ only in Python share a job and its compiler cache. A shard is one matrix of jobs whose wheels are
attested and released together, so it has no more wheels than a release takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget, Cell, Obstacle, Plan, Skip
from wheelmill.wheel.platforms import PLATFORMS

MAX_JOBS: Final = 256
"""Of one matrix (https://docs.github.com/en/actions/reference/limits)."""

MAX_SHARD_TEXT: Final = 80_000
"""Characters of a shard's JSON. GitHub indents it, which adds a third, and a job is given it in a variable: Linux takes
131,072 bytes in one (``MAX_ARG_STRLEN`` of execve(2))."""

MAX_RUN_TEXT: Final = 400_000
"""Characters of the JSON of all shards of a run: what a job hands on is a megabyte at most, counted as UTF-16
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idoutputs)."""

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


def shards_of(
    groups: Iterable[Group], *, wheels: int | None, size_of: Callable[[Group], int]
) -> tuple[tuple[Group, ...], ...]:
    """Divide groups among shards whose wheels fit one release; each group stands in one.

    Args:
        groups: in the order in which they are put into shards.
        wheels: how many one release holds; None where it sets no limit.
        size_of: how many characters of JSON a group's job is given.
    """
    most = min(wheels or MAX_ATTESTED, MAX_ATTESTED)
    shards: list[list[Group]] = []
    left = room = 0
    for group in groups:
        size = size_of(group)
        if left < len(group.targets) or room < size or len(shards[-1]) == MAX_JOBS:
            shards.append([])
            left, room = most, MAX_SHARD_TEXT
        shards[-1].append(group)
        left -= len(group.targets)
        room -= size
    return tuple(map(tuple, shards))


def shards_of_one_run(
    shards: Sequence[Sequence[Group]], size_of: Callable[[Group], int]
) -> tuple[Sequence[Group], ...]:
    """The first shards, as many as one run takes; what they lack is for later runs.

    Args:
        shards: all of them.
        size_of: how many characters of JSON a group's job is given.
    """
    ends = itertools.accumulate(sum(map(size_of, shard)) for shard in shards)
    return tuple(shard for shard, end in zip(shards[:MAX_JOBS], ends, strict=False) if end <= MAX_RUN_TEXT)
