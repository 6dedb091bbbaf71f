"""Samples: a few wheels that stand for many, in pull requests and for a new torch."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Final

from packaging.version import Version

from wheelmill.names import CudaVersion, Platform, ProjectName, PythonVersion, TorchVersion
from wheelmill.plan.groups import estimate
from wheelmill.plan.targets import BuildTarget, Cell, Obstacle, PastBuilds, Plan, Skip

_SAMPLED: Final = Platform("linux", "x86_64")
_SAMPLE_SIZE: Final = 3
"""Packages that are built for a new torch without a request."""
_USUAL_PYTHON: Final = PythonVersion(3, 12)
"""That of Ubuntu 24.04, which most machines with a GPU have."""


def sample_of(plan: Plan) -> Plan:
    """Keep a pull request's targets: of each package and platform the usual machine's wheel, and the oldest."""
    by_package: dict[tuple[ProjectName, Platform], list[BuildTarget]] = {}
    for target in plan.targets:
        by_package.setdefault((target.cell.project, target.cell.platform), []).append(target)
    usual = {max(targets, key=_usualness).cell for targets in by_package.values()}
    return _only(plan, usual | {min(targets, key=age_of).cell for targets in by_package.values()})


def smallest_sample_of(plan: Plan, *, python: PythonVersion, can_build: Callable[[BuildTarget], bool]) -> Plan:
    """Keep the newest target with a compiler of each package, best for this Python, for one GPU architecture."""

    def newness(target: BuildTarget) -> tuple[Version, CudaVersion, Version, bool, PythonVersion]:
        version, cuda, torch, own = age_of(target)
        return version, cuda, torch, python in target.pythons, own

    best: dict[ProjectName, BuildTarget] = {}
    for target in filter(can_build, plan.targets):
        best[target.cell.project] = max(best.get(target.cell.project, target), target, key=newness)
    sampled = _only(plan, {target.cell for target in best.values()})
    targets = (replace(each, architectures=(max(each.architectures),)) for each in sampled.targets)
    return replace(sampled, targets=tuple(targets))


def _only(plan: Plan, cells: Container[Cell]) -> Plan:
    kept = tuple(target for target in plan.targets if target.cell in cells)
    others = (
        Skip(cell=target.cell, obstacle=Obstacle.NOT_SAMPLED, reason="not in the sample (--sample)")
        for target in plan.targets
        if target.cell not in cells
    )
    return replace(plan, targets=kept, skips=(*plan.skips, *others))


def with_sample(plan: Plan, for_torch: Plan, past: PastBuilds) -> Plan:
    """Add a wheel of each of the packages that show soonest whether a new torch, planned alone, can be built for.

    They cost least and need no other package of ours. They are built with the newest CUDA, and with the oldest Python,
    because the newest has changes of its own.
    """
    best: dict[ProjectName, BuildTarget] = {}
    for target in for_torch.targets:
        linked = isinstance(target.cell.torch, TorchVersion) and not target.package.expectations.requires
        if linked and target.cell.platform == _SAMPLED:
            best[target.cell.project] = max(best.get(target.cell.project, target), target, key=_newest_with_oldest)
    costs = {name: estimate(Plan(targets=(each,), skips=()), past).machine_hours for name, each in best.items()}
    chosen = [best[name] for name in sorted(best, key=lambda name: (costs[name], name))[:_SAMPLE_SIZE]]
    return replace(plan, targets=tuple({target.cell: target for target in (*plan.targets, *chosen)}.values()))


def _usualness(target: BuildTarget) -> tuple[Version, Version, bool, bool, CudaVersion, PythonVersion]:
    """Return a sort key: the newest version and torch, with the CUDA of that torch on PyPI."""
    version, cuda, torch, python = age_of(target)
    return version, torch, target.torch_backend is None, _USUAL_PYTHON in target.pythons, cuda, python


def _newest_with_oldest(target: BuildTarget) -> tuple[Version, CudaVersion, tuple[int, int, bool]]:
    python = target.cell.python
    return Version(target.cell.version), target.cell.cuda, (-python.major, -python.minor, not python.free_threaded)


def age_of(target: BuildTarget) -> tuple[Version, CudaVersion, Version, PythonVersion]:
    """Return a sort key for the age of a target: version, CUDA, torch and Python, in this order."""
    cell = target.cell
    return Version(cell.version), cell.cuda, Version(target.torch_release or "0"), cell.python
