"""Groups and shards: how a plan is spread over jobs.

Cells that differ only in Python share a job and its compiler cache. GitHub runs at most 256 jobs of one matrix
(https://docs.github.com/en/actions/reference/limits), so more groups than that take several matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wheelmill.plan.records import BuildTarget, Plan

MAX_JOBS: Final = 256


@dataclass(frozen=True, kw_only=True)
class Group:
    """Targets that one job builds."""

    id: str
    targets: tuple[BuildTarget, ...]
    """They differ in Python only."""


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Put targets that differ only in Python together, in the order of the plan."""
    groups: dict[str, list[BuildTarget]] = {}
    for target in plan.targets:
        groups.setdefault(target.cell.group, []).append(target)
    return tuple(Group(id=name, targets=tuple(targets)) for name, targets in groups.items())


def shards_of(groups: tuple[Group, ...]) -> tuple[tuple[Group, ...], ...]:
    """Divide groups among matrices; each group stands in one."""
    return tuple(groups[first : first + MAX_JOBS] for first in range(0, len(groups), MAX_JOBS))
