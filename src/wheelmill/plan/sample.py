"""A few targets that stand for many: what a pull request builds."""

from __future__ import annotations

from dataclasses import replace

from packaging.version import Version

from wheelmill.names import Platform, ProjectName
from wheelmill.plan.targets import BuildTarget, Plan, Skip


def sample_of(plan: Plan) -> Plan:
    """Keep the two ends of each package on each platform: its oldest and its newest version, CUDA, torch and Python."""
    by_package: dict[tuple[ProjectName, Platform], list[BuildTarget]] = {}
    for target in plan.targets:
        by_package.setdefault((target.cell.project, target.cell.platform), []).append(target)
    ends = {choose(targets, key=_age).cell for targets in by_package.values() for choose in (min, max)}
    kept = tuple(target for target in plan.targets if target.cell in ends)
    others = (target.cell for target in plan.targets if target.cell not in ends)
    return replace(
        plan,
        targets=kept,
        skips=(*plan.skips, *(Skip(cell=cell, reason="not in the sample (--sample)") for cell in others)),
    )


def _age(target: BuildTarget) -> tuple[object, ...]:
    cell = target.cell
    return Version(cell.version), cell.cuda, *([cell.torch] if cell.torch else []), cell.python
