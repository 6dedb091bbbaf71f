"""What the files under ``config/`` say, checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


@dataclass(frozen=True, kw_only=True)
class BuildArguments:
    """What ``build_args`` asks of the build frontend."""

    isolation: bool
    """Whether the project's own ``build-system.requires`` are installed for the build (PEP 518)."""
    config_settings: tuple[tuple[str, str], ...]
    """Handed to the project's build backend (PEP 517)."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """One entry of ``packages.yml``."""

    name: ProjectName
    versions: tuple[ProjectVersion, ...]
    build_arguments: BuildArguments
    extra_deps: tuple[str, ...]
    """Requirements of the build (PEP 508). One on torch makes torch an axis of the matrix."""
    env: tuple[tuple[str, str], ...]
    """Environment variables of the build."""
    architectures: tuple[Architecture, ...]
    """GPU architectures to compile for; those that a CUDA release cannot compile are left out there."""
    test_import: str
    """The module that must be importable once the wheel is installed."""
    description: str
    source: Path | None
    """A folder with the project's source; None takes the source distribution from the package index."""

    @property
    def needs_torch(self) -> bool:
        """Whether the build links to torch."""
        return any(_project_of(requirement) == "torch" for requirement in self.extra_deps)

    @property
    def build_requirements(self) -> tuple[str, ...]:
        """What the build needs beside torch, whose version the target decides."""
        return tuple(text for text in self.extra_deps if _project_of(text) != "torch")


def _project_of(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


@dataclass(frozen=True, kw_only=True)
class CudaRelease:
    """What is known of one CUDA release."""

    toolkit: str
    """The toolkit release that is built with: ``13.0.2``."""
    architectures: frozenset[str]
    """Compute capabilities that its compiler knows: ``9.0``, ``9.0a``."""


@dataclass(frozen=True, kw_only=True)
class TorchRelease:
    """What is known of one torch minor release."""

    release: str
    """The patch release that is built against: ``2.11.0``."""
    cuda: frozenset[CudaVersion]
    """The CUDA releases it is published for."""
    python: frozenset[PythonVersion]


@dataclass(frozen=True, kw_only=True)
class Compatibility:
    """``compatibility.yml``: which combinations can exist."""

    checked: dt.date
    cuda: Mapping[CudaVersion, CudaRelease]
    torch: Mapping[TorchVersion, TorchRelease]
    platforms: tuple[Platform, ...]

    @property
    def pythons(self) -> tuple[PythonVersion, ...]:
        """Every Python that some torch is published for, ascending."""
        return tuple(sorted(frozenset[PythonVersion]().union(*(torch.python for torch in self.torch.values()))))


@dataclass(frozen=True, kw_only=True)
class LockedSdist:
    """One source distribution in ``packages.lock``. The index it comes from is this machine's own setting."""

    filename: str
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class Lock:
    """``packages.lock``: the bytes that builds may use."""

    sdists: Mapping[tuple[ProjectName, ProjectVersion], LockedSdist]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything under one ``config/`` folder."""

    directory: Path
    packages: Mapping[ProjectName, Package]
    compatibility: Compatibility
    lock: Lock
