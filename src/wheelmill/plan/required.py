"""Planned wheels whose required packages are neither published nor planned."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from wheelmill.names import ProjectName, PythonVersion
from wheelmill.plan.targets import Cell, Plan
from wheelmill.system.progress import number_of


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A required package that is neither published nor planned for cells in which another package needs it."""

    project: ProjectName
    """The package that is planned."""
    requires: ProjectName
    """The package that it requires."""
    cells: tuple[Cell, ...]
    """The cells of `project` that could be built, but not tested."""

    def __str__(self) -> str:
        """Which package lacks which, and for how many wheels."""
        count = number_of(len(self.cells), "wheel")
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
