"""Building one target: the same steps everywhere, except for the one that compiles."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from wheelmill.build.finish import finish_wheel
from wheelmill.build.identity import BuildPlace, identity_of, inputs_of
from wheelmill.build.inside import facts_of
from wheelmill.build.parts import BuildPart, CompiledPart
from wheelmill.build.provenance import BuiltWheel, CacheCounts, Provenance, keep_provenance
from wheelmill.build.source import apply_patches, fetch_source
from wheelmill.errors import BuildError, ProcessError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import sha256_of
from wheelmill.system.folders import claim_folder, workspaces
from wheelmill.system.progress import Progress, number_of, size

_CUDA_FILES: Final = (".cu", ".cuh", ".hip")


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What a compiler made of a source."""

    wheel: Path
    """Repaired, not labelled yet."""
    toolkit: str
    """The CUDA toolkit release that it was compiled with."""
    packages: Mapping[str, str]
    """The version of every distribution in the build environment, by name."""
    objects: CacheCounts
    images: tuple[str, ...] = ()
    """The base images of the container that it was compiled in, by digest."""
    memory: int | None = None
    """See `Provenance`."""


class Builder(Protocol):
    """Where builds run."""

    def place(self, target: BuildTarget, /) -> BuildPlace:
        """Describe where a target is compiled."""
        ...

    def compile(
        self, target: BuildTarget, source: Path, workspace: Path, *, policy: str, log: Path, progress: Progress
    ) -> Compiled:
        """Compile and repair a target's wheel.

        Args:
            target: the build target: one cell of the plan.
            source: the folder of its source, patched; `BuildTarget.subdirectory` of it has the build files.
            workspace: an empty folder for everything else; it keeps its path.
            policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
            log: the file that gets everything that is printed.
            progress: shows each stage, and the lines that programs print.

        Raises:
            BuildError: it failed; with the first error of the log.
        """
        ...

    def compile_part(
        self, target: BuildTarget, source: Path, workspace: Path, part: BuildPart, *, log: Path, progress: Progress
    ) -> CompiledPart:
        """Compile a part of a target's units into the compiler cache; the rest is as in `compile`."""
        ...


def build_wheel(target: BuildTarget, builder: Builder, *, policy: str, output: Path, progress: Progress) -> BuiltWheel:
    """Build one target.

    Args:
        target: the build target: one cell of the plan.
        builder: compiles it, on this machine or in a container.
        policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
        output: the folder for the wheel, its provenance and ``<target>.log``.
        progress: shows each stage, and the lines that programs print.

    Raises:
        BuildError: it failed; with the first error of the log.
    """
    cell = target.cell
    started = time.monotonic()
    log = _log_in(output, cell.id)
    with _patched_source(target, log, progress) as (workspace, source, source_sha256):
        compiled = builder.compile(target, source, workspace, policy=policy, log=log, progress=progress)
        facts = facts_of(
            target,
            source_sha256=source_sha256,
            toolkit=compiled.toolkit,
            packages=compiled.packages,
            images=compiled.images,
        )
        file = finish_wheel(compiled.wheel, target, facts, source=source, workspace=workspace, output=output)
    built = BuiltWheel(
        file=file,
        provenance=Provenance(
            sha256=file.sha256,
            cell=cell,
            architectures=target.architectures,
            source_sha256=source_sha256,
            patches=tuple(sha256_of(patch) for patch in target.package.patches),
            pythons=target.pythons,
            inputs=identity_of(inputs_of(target, builder.place(target), policy)),
            expectations=target.package.expectations,
            toolkit=compiled.toolkit,
            torch_release=target.torch_release,
            build_environment=tuple(f"{name}=={version}" for name, version in compiled.packages.items()),
            images=compiled.images,
            seconds=round(time.monotonic() - started, 1),
            requires_dist=target.package.requires_dist,
            system_packages=target.package.system_packages,
            cxx_standard=target.cxx_standard,
            nvcc_flags=target.nvcc_flags,
            driver=target.driver,
            source=facts.source,
            gpus=target.gpus,
            objects=compiled.objects,
            sample=target.sample,
            memory=compiled.memory,
        ),
    )
    keep_provenance(built)
    progress.step(f"{cell.id}: built {file.filename}, {size(file.size)}, in {built.provenance.seconds:.0f} s")
    return built


def build_part(
    target: BuildTarget, builder: Builder, part: BuildPart, *, output: Path, progress: Progress
) -> CompiledPart:
    """Compile a part of one target into the compiler cache; there is no wheel.

    Args:
        target: the build target: one cell of the plan.
        builder: compiles it, on this machine or in a container.
        part: the part of its units.
        output: the folder for ``<target>.part-<number>-of-<all>.log``.
        progress: shows each stage, and the lines that programs print.

    Raises:
        BuildError: it failed; with the first error of the log.
    """
    log = _log_in(output, f"{target.cell.id}.part-{part.number}-of-{part.of}")
    with _patched_source(target, log, progress) as (workspace, source, _):
        done = builder.compile_part(target, source, workspace, part, log=log, progress=progress)
    units = f"{number_of(done.ours + done.others, 'unit')}, {done.ours:,} of them ours"
    progress.step(f"{target.cell.id}: part {part} compiled: {units}")
    return done


def _log_in(output: Path, name: str) -> Path:
    """The path of a build's log; an earlier one is removed."""
    output.mkdir(parents=True, exist_ok=True)
    log = (output / f"{name}.log").resolve()
    log.unlink(missing_ok=True)
    return log


@contextmanager
def _patched_source(target: BuildTarget, log: Path, progress: Progress) -> Iterator[tuple[Path, Path, Sha256]]:
    """A workspace, the patched source in it, and the hash of the source before the patches.

    Raises:
        BuildError: the source cannot be fetched, or a program failed.
    """
    with workspace_of(target, progress) as workspace:
        source, sha256 = fetch_source(target, workspace / "source")
        apply_patches(target.package, source, log=log)
        if not any(path.suffix in _CUDA_FILES for path in source.rglob("*")):
            files = ", ".join(_CUDA_FILES)
            progress.step(
                f"{target.cell.id}: no file of its source ends with {files}: its wheel may be for the CPU only"
            )
        try:
            yield workspace, source, sha256
        except ProcessError as error:
            raise BuildError("build-failed", f"{target.cell.id}: {error}\n{error.tail}") from None


@contextmanager
def workspace_of(target: BuildTarget, progress: Progress) -> Iterator[Path]:
    """Hold the folder of a target's group, which is empty at first.

    It never moves, because paths reach the compiler: nvcc derives the names of internal symbols from the path of the
    source, and compiler caches compare the paths of headers. With one folder for all Pythons of a group, two builds of
    one target are equal to the byte.
    """

    def wait(holder: str) -> None:
        progress.step(f"{target.cell.id}: waiting for another build of {target.cell.group}: {holder}")

    with claim_folder(workspaces() / target.cell.group, wait=wait) as folder:
        yield folder


def describe(target: BuildTarget, toolkit: str) -> str:
    """Say what a target is built with and for."""
    torch = f", torch {target.torch_release}" if target.torch_release else ""
    architectures = ", ".join(map(str, target.architectures))
    return f"Python {target.cell.python}, CUDA {toolkit}{torch}, for {architectures}"
