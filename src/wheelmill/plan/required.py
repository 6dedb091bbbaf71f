"""Wheels that are tried beside others of ours, and cannot be without them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from wheelmill.names import ProjectName, PythonVersion
from wheelmill.plan.targets import Cell, Plan


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A package that another one requires, and that is neither published nor planned where that one is planned."""

    project: ProjectName
    """The package that is planned."""
    requires: ProjectName
    """The package of which there will be no wheel beside it."""
    cells: tuple[Cell, ...]
    """The cells of `project` that could be built, but not tried."""

    def __str__(self) -> str:
        """Which package lacks which, and for how many wheels."""
        count = f"{len(self.cells)} wheel{'s' * (len(self.cells) != 1)}"
        beside = "there is no wheel for the same Python, CUDA and torch, published or planned"
        return f"{self.project} requires {self.requires}, of which {beside}: {count} could not be tried"


def find_missing(plan: Plan, published: Iterable[Cell]) -> tuple[Missing, ...]:
    """Name what planned wheels require and will not find when they are tried.

    Args:
        plan: its targets will be built, each after those that it requires, of other runs too.
        published: the cells that a release holds.
    """
    there: dict[tuple[ProjectName, PythonVersion], list[Cell]] = {}
    planned = (replace(target.cell, python=python) for target in plan.targets for python in target.pythons)
    for cell in itertools.chain(published, planned):
        there.setdefault((cell.project, cell.python), []).append(cell)
    lacking: dict[tuple[ProjectName, ProjectName], list[Cell]] = {}
    for target in plan.targets:
        cell = target.cell
        awaited = {other.project for other in plan.claimed if cell.is_served_by(other)}
        for required in (each for each in target.package.expectations.requires if each not in awaited):
            beside = (there.get((required, python), ()) for python in target.pythons)
            if not all(any(map(cell.is_served_by, cells)) for cells in beside):
                lacking.setdefault((cell.project, required), []).append(cell)
    return tuple(
        Missing(project=project, requires=required, cells=tuple(cells))
        for (project, required), cells in lacking.items()
    )
