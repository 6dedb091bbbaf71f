"""Cells of the matrix: targets to build, and skips with their reasons."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from wheelmill.config.model.container_builder import ContainerBuilder
from wheelmill.config.model.files import LockedCommit, LockedRequirement, LockedSdist
from wheelmill.config.model.package import Package, Topic
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    ProjectName,
    ProjectVersion,
    PythonVersion,
    Sha256,
    StableTorch,
    TorchNeed,
    TorchVersion,
)
from wheelmill.wheel.label import Label, torch_in_json

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import SerializerFunctionWrapHandler

PLAN_SCHEMA: Final = "wheelmill.plan/1"

_version_on: Final = functools.lru_cache(maxsize=4096)(Label.on)
"""Kept for all cells of a group, which come one after the other; kept in each of them it would take 100 MB."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination: a wheel that could be."""

    project: ProjectName
    version: ProjectVersion
    python: PythonVersion
    cuda: CudaVersion
    torch: TorchNeed | None
    """None for a package that does not link to torch."""
    platform: Platform

    @property
    def label(self) -> Label:
        """Local version label of its wheel, with torch if the wheel is for one release of it."""
        return Label(cuda=self.cuda, torch=self.torch if isinstance(self.torch, TorchVersion) else None)

    @property
    def id(self) -> str:
        """Identifier such as ``torch-spline-conv-1.2.2+cu130torch2.11-cp312-linux_x86_64``."""
        return f"{self.project}-{_version_on(self.label, self.version)}-{self.python.abi}-{self.platform}"

    @property
    def group(self) -> str:
        """Name of its group: cells that differ only in Python, built by one job."""
        return f"{self.project}-{_version_on(self.label, self.version)}-{self.platform}"

    def is_served_by(self, other: Cell) -> bool:
        """Return whether a wheel of another cell, Python aside, works with every torch of this cell's wheel."""
        if (other.cuda, other.platform) != (self.cuda, self.platform):
            return False
        if isinstance(other.torch, StableTorch):
            return self.torch is not None and self.torch in other.torch
        return other.torch in (None, self.torch)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write torch as `torch_in_json` does; earlier versions of wheelmill had no ranges."""
        from pydantic_core import core_schema  # the client plans without pydantic

        def read(written: object) -> object:
            match written:
                case {"torch": None, "torch_abi": dict(stable), **others}:
                    return {**others, "torch": stable}
                case {"torch_abi": abi} if abi is not None:
                    raise ValueError("expected one torch, or a range of them as torch_abi")
                case _:
                    return written

        def write(cell: Self, default: SerializerFunctionWrapHandler) -> dict[str, object]:
            return {**default(cell), **torch_in_json(cell.torch)}

        return core_schema.no_info_before_validator_function(
            read, handler(source), serialization=core_schema.wrap_serializer_function_ser_schema(write)
        )


Source = LockedSdist | LockedCommit | Path | None
"""A source distribution from the package index, a commit, a folder, or nothing that is locked yet."""


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """Settings of a build that its plan decides, and that the provenance of its wheel repeats."""

    cell: Cell
    pythons: tuple[PythonVersion, ...]
    """Pythons that its wheel is for: the cell's own, or all that a stable ABI or py3-none wheel serves."""
    architectures: tuple[Architecture, ...]
    """The package's GPU architectures for this cell, as far as its CUDA can compile them."""
    torch_release: str | None
    """The torch release that is linked to: ``2.11.0``."""
    cxx_standard: int | None = None
    """The C++ standard that flags for an older one are raised to; None leaves it to the source."""
    nvcc_flags: tuple[str, ...] = ()
    """Flags passed to nvcc after those of the source."""
    driver: str | None = None
    """The oldest Linux driver that loads its GPU code, such as ``580.65.06``; None for wheels of earlier versions of
    wheelmill."""


@dataclass(frozen=True, kw_only=True)
class BuildTarget(BuildSettings):
    """Cell to build, with all inputs of its build."""

    package: Package
    source: Source
    toolkit: str
    """The CUDA toolkit release: ``13.0.2``."""
    torch_backend: str | None
    """Index of torch: uv's name for that of this CUDA, or the URL of that of release candidates; None for the usual
    index."""
    requirements: tuple[LockedRequirement, ...] | None = None
    """All that the build installs beside torch and CUDA; None when nothing is locked."""
    sample: bool = False
    """True for a sample: built for GPU architectures other than the package's, and never released."""

    @property
    def abi(self) -> str:
        """ABI part of its wheel's tag: ``cp312``, ``none``, or ``abi3`` or ``abi3t`` by its Python."""
        match self.package.abi:
            case "cpython":
                return self.cell.python.abi
            case "abi3t" if not self.cell.python.free_threaded:
                return "abi3"
            case abi:
                return abi

    @property
    def subdirectory(self) -> str:
        """Folder of the source to build, relative to its top, which is ``.``."""
        return (isinstance(self.source, LockedCommit) and self.source.subdirectory) or "."

    @property
    def gpus(self) -> tuple[Architecture, ...]:
        """GPUs that torch reports to the build, one of each capability; none without torch, or by ``gpu_probe``."""
        if self.torch_release is None or self.package.gpu_probe:
            return ()
        return tuple(dict.fromkeys(Architecture(each.major, each.minor) for each in self.architectures))


@dataclass(frozen=True, kw_only=True)
class PastBuild:
    """Average cost of a project's published wheels."""

    seconds: float
    size: int
    """Bytes."""


PastBuilds = Mapping[ProjectName, PastBuild]
"""The cost of each project that has published wheels."""


@dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """Target that the compiler or the builder refused."""

    id: str
    target: Sha256
    """The identity of the target alone, wherever it was built."""
    failed_at: datetime
    reason: str
    """The own error of the compiler or the builder."""
    log: str = ""
    """The end of what the build printed."""
    run: str | None = None
    """The address of the run that has all of it; None for a build outside a workflow."""


KnownFailures = Mapping[Sha256, KnownFailure]
"""Builds that failed, by the hash of everything that went into them."""

FailureOf = Callable[[BuildTarget], KnownFailure | None]
"""Says which earlier failure a build of a target would only repeat."""


class Obstacle(StrEnum):
    """Kinds of reasons for not building a cell."""

    UNKNOWN = "not in compatibility.yml"
    LICENCE = "licence"
    NOT_BY_DEFAULT = "not by default"
    LEFT_OUT = "left out in packages.yml"
    NOT_LOCKED = "not locked"
    """There is no commit to build: it was added where its repository could not be asked."""
    NO_BUILDER = "no such Python to build with"
    REQUIRES_PYTHON = "for other Pythons"
    REQUIRES_DIST = "for other torches or CUDAs"
    NO_TORCH = "no such torch"
    NO_GPU_CODE = "no such GPU code"
    PUBLISHED = "published"
    FAILED = "known to fail"
    CLAIMED = "another run builds it"
    SHARED = "one wheel for several Pythons"
    NOT_SAMPLED = "not in the sample"


@dataclass(frozen=True, kw_only=True)
class Skip:
    """Cell that is not built, with the reason."""

    cell: Cell
    obstacle: Obstacle
    reason: str
    failure: KnownFailure | None = None
    """The failed build that it is skipped for; None for any other reason."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All requested cells, each either a target or a skip."""

    targets: tuple[BuildTarget, ...]
    skips: tuple[Skip, ...]
    claimed: tuple[Cell, ...] = ()
    """A cell of each group that another run builds, whether or not it was asked for."""

    def of_groups(self, groups: Container[str]) -> Self:
        """Return the part of the plan for some groups."""
        return replace(
            self,
            targets=tuple(target for target in self.targets if target.cell.group in groups),
            skips=tuple(skip for skip in self.skips if skip.cell.group in groups),
        )


class Channel(StrEnum):
    """Torches to build for if none is named."""

    STABLE = "stable"
    """Releases."""
    RC = "rc"
    """Release candidates: built for on request alone."""


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Requested cells; an empty axis means everything in ``config/``."""

    projects: tuple[ProjectName, ...] = ()
    tags: tuple[Topic, ...] = ()
    """Topics: packages with any of them are meant."""
    versions: tuple[ProjectVersion, ...] = ()
    pythons: tuple[PythonVersion, ...] = ()
    cudas: tuple[CudaVersion, ...] = ()
    torches: tuple[TorchVersion, ...] = ()
    channel: Channel = Channel.STABLE
    platforms: tuple[Platform, ...] = ()
    changed: frozenset[ProjectName] | None = None
    """The packages that differ from a commit; None if they are not compared."""
    groups: tuple[str, ...] = ()
    """Names of groups, such as ``demo-1.0+cu130-linux_x86_64``."""
    force: bool = False
    """Build published wheels again, and try failed builds again."""
    everything: bool = False
    """Build also what the defaults of ``packages.yml`` leave out."""
    newest_torch: bool = False
    """If no torch is named, use only the newest one for each CUDA."""
    sample: bool = False
    """Build samples: never released, so built whatever is published and whatever the licence."""
    architectures: tuple[Architecture, ...] = ()
    """The GPU architectures that samples are compiled for; none means those of each package."""
    builder: ContainerBuilder | None = None
    """The builder in containers; None if any Python will do, as where this machine builds."""
