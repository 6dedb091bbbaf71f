"""Failed builds: the compiler's error, the cells, and the address of the whole log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from wheelmill.index.tree import Catalogue
from wheelmill.names import ProjectName
from wheelmill.plan.targets import Cell, KnownFailure

_SHOWN: Final = 20
"""Failures that are shown of a package; a log has 4,000 characters at most."""
_CELLS: Final = 40


@dataclass(frozen=True, kw_only=True)
class FailedBuilds:
    """Cells of one version whose builds failed of the same."""

    version: str
    newest: KnownFailure
    cells: tuple[Cell, ...]
    """Some of them."""
    count: int

    @property
    def run(self) -> str | None:
        """The address of the whole log; only an address of a web page, since the ledger is not trusted."""
        return self.newest.run if self.newest.run and self.newest.run.startswith("https://") else None


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The failed builds of one package."""

    builds: tuple[FailedBuilds, ...]
    """The newest version first, then what failed in most cells."""
    left_out: int


def failures_of(catalogue: Catalogue | None) -> Mapping[ProjectName, Failures]:
    """The failed builds that the plan passes over, of every package that has some."""
    alike: dict[ProjectName, dict[tuple[str, str], list[tuple[KnownFailure, Cell]]]] = defaultdict(dict)
    for skip in catalogue.plan.skips if catalogue else ():
        if failure := skip.failure:
            of_project = alike[skip.cell.project]
            of_project.setdefault((skip.cell.version, failure.reason), []).append((failure, skip.cell))
    return {
        project: _failures([_builds(each) for each in of_project.values()]) for project, of_project in alike.items()
    }


def _builds(failed: Sequence[tuple[KnownFailure, Cell]]) -> FailedBuilds:
    newest, cell = max(failed, key=lambda each: (each[0].failed_at, each[1].id))
    cells = sorted((cell for _, cell in failed), key=lambda cell: cell.id)
    return FailedBuilds(version=cell.version, newest=newest, cells=tuple(cells[:_CELLS]), count=len(failed))


def _failures(builds: Sequence[FailedBuilds]) -> Failures:
    ordered = sorted(builds, key=lambda each: (-each.count, each.newest.reason))
    ordered.sort(key=lambda each: Version(each.version), reverse=True)
    return Failures(builds=tuple(ordered[:_SHOWN]), left_out=len(ordered[_SHOWN:]))
