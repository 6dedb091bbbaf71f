"""One entry of ``packages.yml``: how a package is built, for what, and what its wheel must do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from wheelmill.names import Architecture, Platform, ProjectName, ProjectVersion

EVERY_BUILD_NEEDS: Final = ("setuptools", "wheel")
"""Installed for every build: most have no isolation and take them for granted."""


Need = Literal["torch", "cuda", "nvrtc", "driver"]
"""What a wheel is linked to or loads: torch, CUDA without torch, CUDA's run-time compiler, libcuda.so.1."""


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What a wheel must do once it is installed, and what it may ask for."""

    imports: tuple[str, ...]
    """Modules that must be importable."""
    script: str | None = None
    """Python that is run with it where there is a GPU."""
    requires: tuple[ProjectName, ...] = ()
    """Packages of ours that are installed beside it, and so built before it."""
    needs: tuple[Need, ...] = ()
    cudart: Literal["shared", "static"] | None = None
    """How it holds the CUDA runtime; None does not say."""


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
    expectations: Expectations
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
    abi: Literal["cpython", "abi3", "none"] = "cpython"
    """The ABI tag of its wheels: every Python has its own, or all of them share one."""
    arch_variable: ArchVariable | None = None
    """None for a package that reads ``TORCH_CUDA_ARCH_LIST``."""
    scope: Part = Part()
    """What the package is built for."""
    exclude: tuple[Rule, ...] = ()
    include: tuple[Rule, ...] = ()
    runner: str | None = None
    """The label of the machines that build it; None takes GitHub's own for the platform."""
    memory_per_job: int | None = None
    """Bytes that one compiler takes at its peak."""
    timeout: int | None = None
    """Seconds after which a build is ended."""

    @property
    def needs_torch(self) -> bool:
        """Whether the build links to torch."""
        return "torch" in self.expectations.needs

    @property
    def build_requirements(self) -> tuple[str, ...]:
        """What the build needs beside torch, whose version the target decides."""
        return without_torch(self.extra_deps)


def without_torch(requirements: Iterable[str]) -> tuple[str, ...]:
    """Leave out torch: the target decides its version."""
    return tuple(text for text in requirements if _project_of(text) != "torch")


def has_torch(requirements: Iterable[str]) -> bool:
    """Whether torch is among requirements."""
    return any(_project_of(text) == "torch" for text in requirements)


def _project_of(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)
