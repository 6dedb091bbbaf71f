"""Where entries and the package index differ about whose a name is.

A name that is free there, or that its owner gave up, may be taken by anybody, whose project installers would then take
for ours; see docs/security.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from wheelmill.config.model import Package
from wheelmill.installers.package_index import has_project, open_index
from wheelmill.names import CudaVersion, ProjectName


@dataclass(frozen=True, kw_only=True)
class NameDifference:
    """What an entry says of its name, and what is there."""

    project: ProjectName
    file: Literal["same", "absent"]
    """Its key ``pypi``."""
    alias_of: ProjectName | None = None
    """The package that it is another name of."""

    @property
    def index(self) -> str:
        """What the package index has under the name."""
        return "a project" if self.file == "absent" else "no project"

    def __str__(self) -> str:
        """``apex: pypi says 'absent', the package index has a project of this name: ...``."""
        advice = "look whose it is" if self.file == "absent" else "write 'absent'"
        key = f"aliases.pypi of {self.alias_of}" if self.alias_of else "pypi"
        return f"{self.project}: {key} says '{self.file}', the package index has {self.index} of this name: {advice}"


def find_name_differences(packages: Iterable[Package], cudas: Iterable[CudaVersion]) -> tuple[NameDifference, ...]:
    """Ask the package index for the names that entries say something of: whether a project is there, not whose it is.

    Args:
        packages: the packages whose entries these are.
        cudas: the releases of CUDA whose majors their aliases name.

    Raises:
        NetworkError: the package index does not answer.
    """
    majors = sorted({cuda.major for cuda in cudas})
    claims = [claim for package in packages for claim in _claims_of(package, majors)]
    with open_index() as web:
        return tuple(claim for claim in claims if has_project(claim.project, web) == (claim.file == "absent"))


def _claims_of(package: Package, majors: Iterable[int]) -> Iterator[NameDifference]:
    """What an entry says of its names, as differences if it is wrong."""
    if package.pypi in ("same", "absent"):
        yield NameDifference(project=package.name, file=package.pypi)
    if package.aliases:
        for name in package.aliases.names(package.name, majors):
            yield NameDifference(project=name, file=package.aliases.pypi, alias_of=package.name)
