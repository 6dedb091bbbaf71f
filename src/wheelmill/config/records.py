"""What the files under ``config/`` say, checked."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    ProjectName,
    ProjectVersion,
    PythonVersion,
    Sha256,
    TorchVersion,
)

EVERY_BUILD_NEEDS: Final = ("setuptools", "wheel")
"""Installed for every build: most have no isolation and take them for granted."""


@dataclass(frozen=True, kw_only=True)
class BuildArguments:
    """What ``build_args`` asks of the build frontend."""

    isolation: bool
    """Whether the project's own ``build-system.requires`` are installed for the build (PEP 518)."""
    config_settings: tuple[tuple[str, str], ...]
    """Handed to the project's build backend (PEP 517)."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the matrix. An axis that is None holds every value."""

    version: SpecifierSet | None = None
    python: SpecifierSet | None = None
    cuda: SpecifierSet | None = None
    torch: SpecifierSet | None = None
    platforms: tuple[Platform, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A part of the matrix, and what is special about it."""

    part: Part
    reason: str


@dataclass(frozen=True, kw_only=True)
class ArchVariable:
    """A package's own variable for GPU architectures."""

    name: str
    dotted: bool
    """Whether it takes ``8.0;9.0``; else ``80;90``."""


@dataclass(frozen=True, kw_only=True)
class GitSource:
    """A git repository with a project's source."""

    url: str
    """``https://`` or ``file://``, without a user."""
    ref: str
    """A tag, a branch or a commit; ``{version}`` stands for the upstream version."""
    submodules: bool

    def at(self, version: ProjectVersion) -> GitSource:
        """The source of one version."""
        return replace(self, ref=self.ref.replace("{version}", version))


@dataclass(frozen=True, kw_only=True)
class Package:
    """One entry of ``packages.yml``."""

    name: ProjectName
    versions: tuple[ProjectVersion, ...]
    """Those that are listed, or that a listed range has in the lock."""
    build_arguments: BuildArguments
    extra_deps: tuple[str, ...]
    """Requirements of the build (PEP 508). One on torch makes torch an axis of the matrix."""
    env: tuple[tuple[str, str], ...]
    """Environment variables of the build."""
    architectures: tuple[Architecture, ...]
    """GPU architectures to compile for; those that a CUDA release cannot compile are left out there."""
    test_imports: tuple[str, ...]
    """Modules that must be importable once the wheel is installed."""
    description: str
    source: Path | GitSource | None
    """A folder or a repository with the source; None takes the source distribution from the package index."""
    version_range: SpecifierSet | None = None
    """What the lock resolves `versions` from; None where they are listed."""
    licence: str | None = None
    """An SPDX expression."""
    redistributable: bool = True
    patches: tuple[Path, ...] = ()
    """Applied to the source in this order."""
    requires: tuple[ProjectName, ...] = ()
    """Packages that are built before this one."""
    arch_variable: ArchVariable | None = None
    """None for a package that reads ``TORCH_CUDA_ARCH_LIST``."""
    scope: Part = Part()
    """What the package is built for."""
    exclude: tuple[Rule, ...] = ()
    include: tuple[Rule, ...] = ()
    memory_per_job: int | None = None
    """Bytes that one compiler takes at its peak."""
    timeout: int | None = None
    """Seconds after which a build is ended."""

    @property
    def needs_torch(self) -> bool:
        """Whether the build links to torch."""
        return any(_project_of(requirement) == "torch" for requirement in self.extra_deps)

    @property
    def build_requirements(self) -> tuple[str, ...]:
        """What the build needs beside torch, whose version the target decides."""
        return without_torch(self.extra_deps)


def without_torch(requirements: Iterable[str]) -> tuple[str, ...]:
    """Leave out torch: the target decides its version."""
    return tuple(text for text in requirements if _project_of(text) != "torch")


def _project_of(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


@dataclass(frozen=True, kw_only=True)
class CudaRelease:
    """What is known of one CUDA release."""

    toolkit: str
    """The toolkit release that is built with: ``13.0.2``."""
    minimum_driver: str
    """The oldest Linux driver that runs it: ``580.65.06``."""
    host_gcc: int
    """The newest major release of GCC that its nvcc takes."""
    architectures: frozenset[str]
    """Compute capabilities that its compiler knows: ``9.0``, ``9.0a``."""


@dataclass(frozen=True, kw_only=True)
class TorchRelease:
    """What is known of one torch minor release."""

    release: str
    """The patch release that is built against: ``2.11.0``."""
    cuda: Mapping[Platform, frozenset[CudaVersion]]
    """The CUDA releases it is published for."""
    python: frozenset[PythonVersion]
    default_cuda: CudaVersion
    """The CUDA of its wheel on PyPI for linux_x86_64."""
    glibc: str
    """The oldest glibc that its wheels run on: ``2.28``."""


@dataclass(frozen=True, kw_only=True)
class Compatibility:
    """``compatibility.yml``: which combinations can exist."""

    cuda: Mapping[CudaVersion, CudaRelease]
    torch: Mapping[TorchVersion, TorchRelease]
    pythons: tuple[PythonVersion, ...]
    """Pythons that packages without torch are built for."""
    platforms: tuple[Platform, ...]

    @functools.cached_property
    def torch_pythons(self) -> tuple[PythonVersion, ...]:
        """Pythons that some torch is published for, ascending."""
        return tuple(sorted(frozenset[PythonVersion]().union(*(torch.python for torch in self.torch.values()))))


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


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything under one ``config/`` folder."""

    directory: Path
    packages: Mapping[ProjectName, Package]
    compatibility: Compatibility
    lock: Lock
