"""Provenance of a built wheel, and identity of a build: the hash of everything that decides its result."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from wheelmill.build.source import sha256_of_tree
from wheelmill.config.model import Expectations
from wheelmill.config.model.files import LockedSdist
from wheelmill.config.model.package import ONLY_PLANNED
from wheelmill.config.model.package_parts import RequiresDist, SystemPackages
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import Architecture, Sha256
from wheelmill.plan.targets import BuildSettings, BuildTarget, FailureOf, KnownFailure, KnownFailures
from wheelmill.system import process
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.records import fields_of, read_record, write_record
from wheelmill.wheel.build_facts import SourceFacts
from wheelmill.wheel.name import WheelFile

SUFFIX: Final = ".built.json"


@dataclass(frozen=True, kw_only=True)
class CacheCounts:
    """Numbers of objects from the compiler cache and from the compiler."""

    found: int
    """In the compiler cache."""
    compiled: int


@dataclass(frozen=True, kw_only=True)
class Provenance(BuildSettings):
    """Record of a wheel's source and build, stored beside the wheel and bound to it by its hash."""

    sha256: Sha256
    source_sha256: Sha256
    patches: tuple[Sha256, ...]
    """The hashes of the patches that were applied to the source."""
    expectations: Expectations
    toolkit: str
    build_environment: tuple[str, ...]
    """Every distribution in the build environment, pinned: ``ninja==1.13.2``."""
    images: tuple[str, ...]
    """The base images of the container that it was compiled in, by digest; none for a build without one."""
    seconds: float
    """Wall time of the build."""
    inputs: Sha256 | None = None
    """The identity of everything that decided the result; None for wheels of earlier versions of wheelmill."""
    requires_dist: RequiresDist | None = None
    """Changes to the requirements of the source; None if there are none."""
    system_packages: SystemPackages | None = None
    """Development packages of the operating system that it was compiled with, beside the image's own."""
    source: SourceFacts | None = None
    """Compiled source; None for wheels of earlier versions of wheelmill."""
    gpus: tuple[Architecture, ...] = ()
    """The GPUs that torch was made to report to the build; none if torch was left as it is."""
    objects: CacheCounts | None = None
    """Objects by origin, compiled or from the cache; None for wheels of earlier versions of wheelmill."""
    sample: bool = False
    """True for a sample: built for GPU architectures other than the package's, and never released."""
    memory: int | None = None
    """The peak memory of the largest process, usually a compiler, in bytes; None for a build in a container."""


def planned_values(target: BuildTarget) -> dict[str, Any]:
    """Return the values of a provenance that the plan decides: a build repeats them, and the gate compares them."""
    package = target.package
    return {
        **fields_of(target, BuildSettings),
        "gpus": target.gpus,
        "patches": tuple(map(sha256_of, package.patches)),
        "system_packages": package.system_packages,
        "requires_dist": package.requires_dist,
        "expectations": package.expectations,
    }


@dataclass(frozen=True, kw_only=True)
class BuiltWheel:
    """Finished wheel on disk, labelled and repaired."""

    file: WheelFile
    provenance: Provenance


def provenance_path(wheel: Path) -> Path:
    """Return the path of a wheel's provenance, beside the wheel."""
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


COMPILERS: Final = ("cc", "c++", "gcc", "g++")
_COMPILER_VARIABLES: Final = ("CC", "CXX", "CUDAHOSTCXX")


@dataclass(frozen=True, kw_only=True)
class BuildPlace:
    """Place where a target is compiled, as far as it affects the result."""

    sandbox: Literal["local", "docker"]
    compilers: tuple[str, ...]
    """The host's compilers: the hash of each and the version that it prints, or the release of GCC in the image."""
    images: tuple[str, ...] = ()
    """The base images of the container, by digest; none for a build without one."""
    network: str = ""


@dataclass(frozen=True, kw_only=True)
class BuildInputs:
    """Inputs that decide the result of a build."""

    target: BuildTarget
    files: tuple[Sha256, ...]
    """The hashes of the patches, and of the source where that is a folder."""
    wheelmill: str
    place: BuildPlace | None = None
    """None stands for any place."""
    policy: str | None = None
    """``auto``, or a platform policy without its machine; None stands for any."""


def inputs_of(target: BuildTarget, place: BuildPlace | None = None, policy: str | None = None) -> BuildInputs:
    """Gather the inputs that decide the result of a target's build; None leaves the place or the policy open."""
    files = tuple(sha256_of(patch) for patch in target.package.patches)
    if isinstance(target.source, Path):  # the folder's content counts, not where it lies
        files += (sha256_of_tree(target.source),)
        target = replace(target, source=None)
    elif isinstance(target.source, LockedSdist):  # requires_python only affects the plan
        target = replace(target, source=replace(target.source, requires_python=None))
    version = importlib.metadata.version("wheelmill")
    return BuildInputs(target=target, files=files, wheelmill=version, place=place, policy=policy)


def source_identity(target: BuildTarget) -> Sha256:
    """Hash the source of a target and its patches; equal ones have equal hashes on every machine."""
    inputs = inputs_of(target)
    return sha256_of_bytes(repr((inputs.target.source, inputs.files)).encode())


def identity_of(record: BuildInputs | BuildPlace) -> Sha256:
    """Hash inputs or a place; equal records have equal hashes on every machine."""
    content = asdict(record)
    if isinstance(record, BuildInputs):
        for part in ("package", *(["source"] if record.target.source else [])):
            for key in fields(getattr(record.target, part)):
                if key.metadata == ONLY_PLANNED:
                    del content["target"][part][key.name]
    return sha256_of_bytes(json.dumps(content, sort_keys=True, default=os.fspath).encode())


def this_machine() -> BuildPlace:
    """Return this machine as a place, with the compilers that a build on it would call."""
    seen = process.environment_for_foreign_code()
    named = [f"{name}={seen[name]}" for name in _COMPILER_VARIABLES if name in seen]
    words = dict.fromkeys([*COMPILERS, *(word for text in named for word in text.partition("=")[2].split())])
    programs = [(word, shutil.which(word, path=seen.get("PATH"))) for word in words]
    compilers = (f"{word} {_describe_program(Path(path))}" for word, path in programs if path)
    return BuildPlace(sandbox="local", compilers=(*named, *compilers))


def _describe_program(path: Path) -> str:
    """Return a program's hash and the first line of its version; a script may start any other program."""
    try:
        printed = process.run([path, "--version"], env=process.environment_for_foreign_code())
    except (ProcessError, UsageError):
        printed = "does not run"
    return f"{sha256_of(path)} {printed.partition(chr(10))[0]}"


def known_failures(
    failures: KnownFailures, place_of: Callable[[BuildTarget], BuildPlace] | None = None, policy: str | None = None
) -> FailureOf:
    """Return a function that finds the earlier failure that a build would repeat; without places, any counts."""
    known = failures if place_of else {failure.target: failure for failure in failures.values()}
    suspects = {failure.id for failure in known.values()}  # hashing takes time, and runs the machine's compilers

    def failure_of(target: BuildTarget) -> KnownFailure | None:
        if target.cell.id not in suspects:
            return None
        return known.get(identity_of(inputs_of(target, place_of and place_of(target), policy)))

    return failure_of
