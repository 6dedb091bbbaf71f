"""``packages.lock``: the bytes that builds may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from wheelmill.config.model.package import GitSource, Package
from wheelmill.names import ProjectName, ProjectVersion, Sha256


@dataclass(frozen=True, kw_only=True)
class LockedSdist:
    """One source distribution in ``packages.lock``. The index it comes from is this machine's own setting."""

    filename: str
    sha256: Sha256
    requires: tuple[str, ...] | None = None
    """What its ``pyproject.toml`` asks for (PEP 518); None where a build without isolation does not ask."""


@dataclass(frozen=True, kw_only=True)
class LockedCommit:
    """One commit in ``packages.lock``."""

    source: GitSource
    """Where it was found; its `ref` is that of one version."""
    commit: str
    """40 lower-case hexadecimal digits."""
    requires: tuple[str, ...] | None = None
    """As of `LockedSdist`."""


@dataclass(frozen=True, kw_only=True)
class LockedRequirement:
    """One build requirement in ``packages.lock``: a version, and the hashes that its files may have."""

    requirement: str
    """Pinned, perhaps for some Pythons or platforms only (PEP 508)."""
    sha256: tuple[Sha256, ...]


@dataclass(frozen=True, kw_only=True)
class LockedRequirements:
    """All that the builds of one package install, torch and CUDA left out."""

    inputs: tuple[str, ...]
    """What they were resolved from: when that changes, they are resolved anew."""
    pinned: tuple[LockedRequirement, ...]


@dataclass(frozen=True, kw_only=True)
class Lock:
    """``packages.lock``: the bytes that builds may use."""

    sdists: Mapping[tuple[ProjectName, ProjectVersion], LockedSdist]
    commits: Mapping[tuple[ProjectName, ProjectVersion], LockedCommit] = field(default_factory=dict)
    requirements: Mapping[ProjectName, LockedRequirements] = field(default_factory=dict)

    def source_of(self, package: Package, version: ProjectVersion) -> LockedSdist | LockedCommit | Path | None:
        """Where a version's source is: a folder, or what is locked; None where that is nothing or from elsewhere."""
        match package.source:
            case None:
                return self.sdists.get((package.name, version))
            case GitSource():
                commit = self.commits.get((package.name, version))
                return commit if commit and commit.source == package.source.at(version) else None
            case folder:
                return folder

    def versions_in(self, project: ProjectName, versions: SpecifierSet) -> tuple[ProjectVersion, ...]:
        """The locked versions of a project that lie in a range, ascending."""
        locked = [version for name, version in self.sdists if name == project]
        return tuple(sorted(versions.filter(locked, prereleases=bool(versions.prereleases)), key=Version))
