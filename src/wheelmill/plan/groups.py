"""Samples, groups and shards: how much of a plan is built, and how it is spread over jobs.

Cells that differ only in Python share a job and its compiler cache. A shard is one matrix of jobs whose wheels are
attested and released together, so it has no more wheels than a release takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from packaging.version import Version

from wheelmill.names import CudaVersion, Platform, ProjectName, PythonVersion
from wheelmill.plan.targets import BuildTarget, Obstacle, Plan, Skip
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
