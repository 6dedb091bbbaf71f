"""What was chosen, and why the rest was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.records.candidates import Candidate
from wheelmill.client.records.target import TargetEnvironment
from wheelmill.names import CudaTag, ProjectName, TorchVersion


class Aspect(StrEnum):
    """What a candidate fails at. The values are part of the commands' JSON."""

    PLATFORM = "platform"
    """Another operating system, C library or processor."""
    GLIBC = "glibc"
    """A newer glibc than the target's."""
    PYTHON = "python"
    CUDA = "cuda"
    TORCH = "torch"
    ABI = "abi"
    """The C++ ABI of torch."""
    DRIVER = "driver"
    GPU = "gpu"
    VERSION = "version"
    """Not a version that was asked for."""
    YANKED = "yanked"


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Why one candidate does not fit."""

    aspect: Aspect
    reason: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The wheel for one project."""

    project: ProjectName
    """As it was asked for."""
    candidate: Candidate
    extras: frozenset[str] = frozenset()
    """Those that were asked for."""
    requires_dist: tuple[str, ...] | None = None
    """Of its METADATA; None when that was not read."""
    notes: tuple[str, ...] = ()
    """What could not be checked, or should be known: ``its GPU architectures are not known``."""

    @property
    def name_with_extras(self) -> str:
        """What it is installed as, with its extras: ``flash-attn[test]``."""
        extras = f"[{','.join(sorted(self.extras))}]" if self.extras else ""
        return f"{self.candidate.project}{extras}"

    @property
    def needs_torch(self) -> bool:
        """Whether it is linked to torch, or that is not known."""
        requires = self.requires_dist
        if self.candidate.label.torch or requires is None:
            return True
        return any(canonicalize_name(Requirement(each).name) == "torch" for each in requires)


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """A project without a wheel for the target."""

    project: ProjectName
    reason: str
    suggestion: str | None
    """The smallest change with which there is one: ``--torch 2.10``; None when there is none."""


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What was chosen for a target, all for one torch and one CUDA."""

    environment: TargetEnvironment
    """The target; where it left torch and CUDA open, with those that were chosen."""
    choices: Mapping[ProjectName, Choice]
    unresolved: Mapping[ProjectName, Unresolved]
    torch_backend: CudaTag | None = None
    """The CUDA that torch has to be taken for, as uv calls it; None where the usual index has the right one."""
    torch_index: str | None = None
    """The simple index that has it."""
    warnings: tuple[str, ...] = ()
    """Sources that did not answer, or were read from the cache."""
    unanswered: tuple[str, ...] = ()
    """Pages that servers did not give and the cache does not have: they may list a wheel for what is unresolved."""

    @property
    def torch(self) -> TorchVersion | None:
        """The torch that must stand beside the wheels; None when none of them is linked to it."""
        return self.environment.torch if any(choice.needs_torch for choice in self.choices.values()) else None
