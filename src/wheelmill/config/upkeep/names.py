"""Where entries and the package index differ about whose a name is.

A name that is free there, or that its owner gave up, may be taken by anybody, whose project installers would then take
for ours; see docs/security.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from wheelmill.config.model import Package
from wheelmill.installers.package_index import has_project, open_index
from wheelmill.names import ProjectName


@dataclass(frozen=True, kw_only=True)
class NameDifference:
    """What an entry says of its name, and what is there."""

    project: ProjectName
    file: Literal["same", "absent"]
    """Its key ``pypi``."""

    @property
    def index(self) -> str:
        """What the package index has under the name."""
        return "a project" if self.file == "absent" else "no project"

    def __str__(self) -> str:
        """``apex: pypi says 'absent', the package index has a project of this name: ...``."""
        advice = "look whose it is" if self.file == "absent" else "write 'absent'"
        return f"{self.project}: pypi says '{self.file}', the package index has {self.index} of this name: {advice}"


def find_name_differences(packages: Iterable[Package]) -> tuple[NameDifference, ...]:
    """Ask the package index for the names that entries say something of: whether a project is there, not whose it is.

    Raises:
        NetworkError: the package index does not answer.
    """
    claims = [(package.name, package.pypi) for package in packages]
    with open_index() as web:
        return tuple(
            NameDifference(project=name, file=claim)
            for name, claim in claims
            if (claim == "absent" and has_project(name, web)) or (claim == "same" and not has_project(name, web))
        )
