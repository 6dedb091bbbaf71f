"""What people say of wheels that are published: ``yanked.yml`` and ``removed.yml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from wheelmill.names import ProjectName


class Status(StrEnum):
    """The status markers of projects (PEP 792)."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    """It gets no new wheels."""
    QUARANTINED = "quarantined"
    """Unsafe: an index lists none of its files."""
    DEPRECATED = "deprecated"
    """Something else took its place."""


@dataclass(frozen=True, kw_only=True)
class ProjectStatus:
    """What an index says of a whole project."""

    status: Status = Status.ACTIVE
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What an index says of published wheels beside what their manifests say; nothing where no file says anything."""

    yanked_wheels: Mapping[str, str] = field(default_factory=dict)
    """Why each of these files is yanked (PEP 592)."""
    yanked_versions: Mapping[ProjectName, Mapping[SpecifierSet, str]] = field(default_factory=dict)
    """Why all wheels of these versions are."""
    statuses: Mapping[ProjectName, ProjectStatus] = field(default_factory=dict)
    """Of projects that are not plainly active."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """Why each of these files is listed no more."""

    def yank_reason(self, filename: str, project: ProjectName, version: Version) -> str | None:
        """Why a wheel is yanked; None when it is not."""
        if reason := self.yanked_wheels.get(filename):
            return reason
        ranges = self.yanked_versions.get(project, {})
        return next((why for which, why in ranges.items() if which.contains(version, prereleases=True)), None)

    def status_of(self, project: ProjectName) -> ProjectStatus:
        """The status of a project."""
        return self.statuses.get(project, ProjectStatus())
