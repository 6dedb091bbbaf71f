"""``packages.lock``: the bytes that builds may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import Version

from wheelmill.config.annotations import ConfigFile, EachKeyOnce, Entry, Read
from wheelmill.config.fields import (
    Hash,
    Hashes,
    Name,
    Range,
    Requirements,
    UpstreamVersion,
    hexadecimal,
    index_requirement,
    text_of,
)
from wheelmill.config.model.git_source import GitSource
from wheelmill.config.model.package import Package
from wheelmill.names import ProjectName, ProjectVersion, PythonVersion

_ANY_PATCH: Final = 99
"""A patch release newer than any: so a source that needs 3.9.2 counts as one for Python 3.9."""


def _pin(value: object) -> str:
    text = text_of(value)
    requirement = Requirement(index_requirement(text))
    pinned = [specifier.operator for specifier in requirement.specifier] == ["=="] and "*" not in text.partition(";")[0]
    if not pinned or requirement.extras:
        raise ValueError(f"expected a pinned requirement such as 'ninja==1.13.2', not {text!r}")
    return str(requirement)


def _sdist(value: object) -> str:
    text = text_of(value)
    try:
        canonicalize_name(parse_sdist_filename(text)[0], validate=True)  # which refuses folders
    except (InvalidName, InvalidSdistFilename):
        raise ValueError(f"expected the file name of a source distribution, not {text!r}") from None
    return text


@dataclass(frozen=True, kw_only=True)
class LockedSdist(Entry):
    """One source distribution. The index it comes from is this machine's own setting."""

    sdist: Annotated[str, Read(_sdist)]
    """Its file name."""
    sha256: Hash
    requires: Requirements | None = None
    """What its ``pyproject.toml`` asks for (PEP 518); None where a build without isolation does not ask."""
    requires_python: Range | None = None
    """Its Requires-Python, as the index has it (PEP 503); None if it says nothing."""

    def is_for(self, python: PythonVersion) -> bool:
        """Whether any patch release of a Python can build it."""
        return self.requires_python is None or f"{python.major}.{python.minor}.{_ANY_PATCH}" in self.requires_python


@dataclass(frozen=True, kw_only=True)
class LockedCommit(GitSource):
    """One commit, and where it was found; `ref` is that of one version."""

    commit: Annotated[str, hexadecimal(40)]
    requires: Requirements | None = None
    """As of `LockedSdist`."""

    def is_of(self, source: GitSource) -> bool:
        """Whether it was found at this place."""
        return all(getattr(self, key.name) == getattr(source, key.name) for key in fields(GitSource))


@dataclass(frozen=True, kw_only=True)
class LockedRequirement(Entry):
    """One build requirement: a version, and the hashes that its files may have."""

    requirement: Annotated[str, Read(_pin)]
    """Pinned, perhaps for some Pythons or platforms only (PEP 508)."""
    sha256: Hashes


@dataclass(frozen=True, kw_only=True)
class LockedRequirements(Entry):
    """All that the builds of one package install, torch and CUDA left out."""

    inputs: Requirements
    """What they were resolved from: when that changes, they are resolved anew."""
    pinned: tuple[LockedRequirement, ...]


@dataclass(frozen=True, kw_only=True)
class Lock(ConfigFile):
    """``packages.lock``."""

    sdists: Mapping[Name, Annotated[Mapping[UpstreamVersion, LockedSdist], EachKeyOnce()]]
    commits: Mapping[Name, Annotated[Mapping[UpstreamVersion, LockedCommit], EachKeyOnce()]] = field(
        default_factory=dict
    )
    requirements: Mapping[Name, LockedRequirements] = field(default_factory=dict)

    def source_of(self, package: Package, version: ProjectVersion) -> LockedSdist | LockedCommit | Path | None:
        """The source of a version: a folder, or what is locked; None if nothing is, or only from another place."""
        match package.source:
            case None:
                return self.sdists.get(package.name, {}).get(version)
            case GitSource() as source:
                commit = self.commits.get(package.name, {}).get(version)
                return commit if commit and commit.is_of(source.at(version)) else None
            case folder:
                return folder

    def lacks_commit(self, package: Package, version: ProjectVersion) -> bool:
        """Whether a version is built from git, and no commit of it is locked."""
        return isinstance(package.source, GitSource) and self.source_of(package, version) is None

    def versions_in(self, project: ProjectName, versions: SpecifierSet) -> tuple[ProjectVersion, ...]:
        """The locked versions of a project that lie in a range, ascending."""
        locked = versions.filter(self.sdists.get(project, {}), prereleases=bool(versions.prereleases))
        return tuple(sorted(locked, key=Version))
