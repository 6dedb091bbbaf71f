"""A wheel that was built, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.config.model import Expectations, RequiresDist, SystemPackages
from wheelmill.names import Architecture, PythonVersion, Sha256
from wheelmill.plan.targets import Cell
from wheelmill.system.records import read_record, write_record
from wheelmill.wheel.build_facts import SourceFacts
from wheelmill.wheel.name import WheelFile

SUFFIX: Final = ".built.json"


@dataclass(frozen=True, kw_only=True)
class CacheCounts:
    """Where the objects of a build came from."""

    found: int
    """In the compiler cache."""
    compiled: int


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a wheel was made from, and with what. Kept beside the wheel and bound to it by its hash."""

    sha256: Sha256
    cell: Cell
    architectures: tuple[Architecture, ...]
    source_sha256: Sha256
    patches: tuple[Sha256, ...]
    """The hashes of the patches that were applied to the source."""
    pythons: tuple[PythonVersion, ...]
    """The Pythons that the wheel is for."""
    expectations: Expectations
    toolkit: str
    torch_release: str | None
    build_environment: tuple[str, ...]
    """Every distribution in the build environment, pinned: ``ninja==1.13.2``."""
    images: tuple[str, ...]
    """The base images of the container that it was compiled in, by digest; none for a build without one."""
    seconds: float
    """Wall time of the build."""
    inputs: Sha256 | None = None
    """The identity of everything that decided the result; None for wheels of earlier versions of wheelmill."""
    requires_dist: RequiresDist | None = None
    """How its requirements differ from those of the source; None where they do not."""
    system_packages: SystemPackages | None = None
    """Development packages of the operating system that it was compiled with, beside the image's own."""
    cxx_standard: int | None = None
    """The C++ standard that flags for an older one were raised to; None where none was."""
    nvcc_flags: tuple[str, ...] = ()
    """What nvcc was given after the flags of the source."""
    driver: str | None = None
    """The oldest Linux driver that loads its GPU code; None for wheels of earlier versions of wheelmill."""
    source: SourceFacts | None = None
    """What was compiled; None for wheels of earlier versions of wheelmill."""
    gpus: tuple[Architecture, ...] = ()
    """The GPUs that torch was made to report to the build; none if torch was left as it is."""
    objects: CacheCounts | None = None
    """Where its objects came from; None for wheels of earlier versions of wheelmill."""
    sample: bool = False
    """Whether it is a sample, for GPU architectures other than the package's: never released."""
    memory: int | None = None
    """The peak memory of the largest process, usually a compiler, in bytes; None for a build in a container."""


@dataclass(frozen=True, kw_only=True)
class BuiltWheel:
    """A finished wheel on disk, labelled and repaired."""

    file: WheelFile
    provenance: Provenance


def provenance_path(wheel: Path) -> Path:
    """The path of a wheel's provenance, beside the wheel."""
    return wheel.with_name(wheel.name + SUFFIX)


def keep_provenance(wheel: BuiltWheel) -> None:
    """Write a wheel's provenance beside it."""
    write_record(provenance_path(wheel.file.path), wheel.provenance)


def provenance_of(file: WheelFile) -> Provenance | None:
    """Read the provenance beside a wheel; None if there is none, or if it belongs to other bytes."""
    path = provenance_path(file.path)
    if not path.exists():
        return None
    provenance = read_record(path, Provenance)
    return provenance if provenance.sha256 == file.sha256 else None
