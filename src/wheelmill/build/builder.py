"""Build of one target: the same steps everywhere, except for compilation.

A repaired wheel gets its label in file name, METADATA and RECORD, and is packed the same way every time. The three must
agree: pip refuses a wheel whose METADATA names another version, and uv reinstalls it on every sync.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from msgspec import structs
from packaging.utils import canonicalize_name

from wheelmill.build.added_files import facts_of, write_inside
from wheelmill.build.compiler_cache import BuildPart, CompiledPart
from wheelmill.build.provenance import (
    BuildPlace,
    BuiltWheel,
    CacheCounts,
    Provenance,
    identity_of,
    inputs_of,
    keep_provenance,
    planned_values,
)
from wheelmill.build.source import apply_patches, fetch_source
from wheelmill.config.model import Package, RequiresDist, projects_of
from wheelmill.errors import BuildError, ProcessError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.folders import claim_folder, workspaces
from wheelmill.system.progress import Progress, number_of, size
from wheelmill.wheel.archive import check_archive, open_archive, pack, unpack
from wheelmill.wheel.build_facts import BuildFacts
from wheelmill.wheel.metadata import add_label, is_pure, metadata_in, read_metadata, wheel_file_in
from wheelmill.wheel.name import WheelFile, WheelName, written_parts
from wheelmill.wheel.record import record_of
from wheelmill.wheel.shared_objects import shared_objects_of


def finish_wheel(
    repaired: Path, target: BuildTarget, facts: BuildFacts, *, source: Path, workspace: Path, output: Path
) -> WheelFile:
    """Label a wheel that auditwheel repaired, add its build facts, and pack it into ``output``.

    ``source`` is the patched source.
    """
    unpacked = workspace / "unpacked"
    unpack(repaired, unpacked)
    (old_dist_info,) = (path.name for path in unpacked.glob("*.dist-info"))
    name = WheelName.parse(repaired.name)
    name = structs.replace(name, version=target.cell.label.on(target.cell.version))
    stem = "-".join(written_parts(name.filename)[:2])
    for suffix in (".dist-info", ".data"):
        old = unpacked / (old_dist_info.removesuffix(".dist-info") + suffix)
        if old.exists():
            old.rename(unpacked / (stem + suffix))
    dist_info = unpacked / f"{stem}.dist-info"
    metadata = dist_info / "METADATA"
    own, changes = metadata.read_bytes(), target.package.requires_dist or RequiresDist()
    _check_changes(changes, own, target.package)
    metadata.write_bytes(
        add_label(
            own,
            version=name.version,
            torch=target.cell.torch,
            torch_release=target.torch_release,
            drop={*changes.remove, *projects_of(changes.replace)},
            add=(*changes.replace, *changes.add),
        )
    )
    write_inside(facts, target, source, unpacked, dist_info)
    (dist_info / "RECORD").write_bytes(record_of(unpacked, dist_info.name))
    finished = output / name.filename
    pack(unpacked, finished)
    return WheelFile.at(finished)


def _check_changes(changes: RequiresDist, metadata: bytes, package: Package) -> None:
    """Refuse changes to requirements that no longer apply to the source and would go unnoticed."""
    required = {canonicalize_name(requirement.name) for requirement in read_metadata(metadata).requires_dist or ()}
    place = package.place_of("requires_dist")
    for key, names in (("remove", changes.remove), ("replace", projects_of(changes.replace))):
        if missing := [name for name in names if name not in required]:
            raise BuildError(
                "requirement-absent", f"{place}.{key}: the wheel does not require {', '.join(missing)}; leave that out"
            )
    if present := [name for name in projects_of(changes.add) if name in required]:
        raise BuildError(
            "requirement-present",
            f"{place}.add: the wheel requires {', '.join(present)} already; 'replace' changes that",
        )


def check_built(wheel: Path, target: BuildTarget) -> None:
    """Refuse an unusable wheel of a build backend before more of it is read."""
    cell = target.cell
    broken = f"{cell.project} {cell.version} came out as a wheel that cannot be used"
    if findings := check_archive(wheel):
        raise BuildError("raw-wheel-refused", f"{broken}: {'; '.join(finding.detail for finding in findings)}")
    try:
        name = WheelName.parse(wheel.name)
        with wheel.open("rb") as file, open_archive(file) as archive:
            read_metadata(metadata_in(archive))
            pure = is_pure(wheel_file_in(archive))
        shared_objects = shared_objects_of(wheel)
    except UnreadableError as error:
        raise BuildError("raw-wheel-unreadable", f"{broken}: {error}") from None
    if name.project != cell.project:
        raise BuildError(
            "another-project", f"{cell.project} {cell.version} came out as a wheel of {name.project}: {wheel.name}"
        )
    if pure or not shared_objects:
        raise BuildError(
            "nothing-compiled",
            f"{cell.project} {cell.version} came out as pure Python: nothing was compiled",
            hint="its setup.py may want a variable (MMCV_WITH_OPS=1 or the like) under 'env' in its entry",
        )


_CUDA_FILES: Final = (".cu", ".cuh", ".hip")


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Repaired wheel and the environment that compiled it."""

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


@dataclass(frozen=True, kw_only=True)
class BuildTask:
    """Target whose source is ready to be compiled."""

    target: BuildTarget
    source: Path
    """The folder of its source, patched; `BuildTarget.subdirectory` of it has the build files."""
    workspace: Path
    """An empty folder for everything else; its path never changes."""
    log: Path
    """Gets everything that programs print."""
    progress: Progress


class Builder(Protocol):
    """Place where builds run: this machine or a container. A failed build raises BuildError."""

    def place(self, target: BuildTarget, /) -> BuildPlace:
        """Describe where a target is compiled."""

    def compile(self, task: BuildTask, policy: str) -> Compiled:
        """Compile and repair a wheel for ``auto``, or a policy without its machine, such as ``manylinux_2_28``."""

    def compile_part(self, task: BuildTask, part: BuildPart) -> CompiledPart:
        """Compile a part of the units into the compiler cache."""


def build_wheel(target: BuildTarget, builder: Builder, *, policy: str, output: Path, progress: Progress) -> BuiltWheel:
    """Build one target; write the wheel, its provenance and ``<target>.log`` to ``output``.

    ``policy`` is as in `Builder.compile`.

    Raises:
        BuildError: it failed; with the first error of the log.
    """
    cell = target.cell
    started = time.monotonic()
    with _patched_source(target, _log_in(output, cell.id), progress) as (task, source_sha256):
        compiled = builder.compile(task, policy)
        facts = facts_of(
            target,
            source_sha256=source_sha256,
            toolkit=compiled.toolkit,
            packages=compiled.packages,
            images=compiled.images,
        )
        file = finish_wheel(compiled.wheel, target, facts, source=task.source, workspace=task.workspace, output=output)
    built = BuiltWheel(
        file=file,
        provenance=Provenance(
            **planned_values(target),
            sha256=file.sha256,
            source_sha256=source_sha256,
            inputs=identity_of(inputs_of(target, builder.place(target), policy)),
            toolkit=compiled.toolkit,
            build_environment=tuple(f"{name}=={version}" for name, version in compiled.packages.items()),
            images=compiled.images,
            seconds=round(time.monotonic() - started, 1),
            source=facts.source,
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
    """Compile a part of one target into the compiler cache, without a wheel.

    ``output`` gets ``<target>.part-<number>-of-<all>.log``.

    Raises:
        BuildError: it failed; with the first error of the log.
    """
    log = _log_in(output, f"{target.cell.id}.part-{part.number}-of-{part.of}")
    with _patched_source(target, log, progress) as (task, _):
        done = builder.compile_part(task, part)
    units = f"{number_of(done.ours + done.others, 'unit')}, {done.ours:,} of them ours"
    progress.step(f"{target.cell.id}: part {part} compiled: {units}")
    return done


def _log_in(output: Path, name: str) -> Path:
    """Return the path of a build's log, and remove an earlier log."""
    output.mkdir(parents=True, exist_ok=True)
    log = (output / f"{name}.log").resolve()
    log.unlink(missing_ok=True)
    return log


@contextmanager
def _patched_source(target: BuildTarget, log: Path, progress: Progress) -> Iterator[tuple[BuildTask, Sha256]]:
    """Yield a target with its patched source in a workspace, and the hash of the source before the patches."""
    with workspace_of(target, progress) as workspace:
        source, sha256 = fetch_source(target, workspace / "source")
        apply_patches(target.package, source, log=log)
        if not any(path.suffix in _CUDA_FILES for path in source.rglob("*")):
            files = ", ".join(_CUDA_FILES)
            progress.step(
                f"{target.cell.id}: no file of its source ends with {files}: its wheel may be for the CPU only"
            )
        try:
            yield BuildTask(target=target, source=source, workspace=workspace, log=log, progress=progress), sha256
        except ProcessError as error:
            raise BuildError("build-failed", f"{target.cell.id}: {error}\n{error.tail}") from None


@contextmanager
def workspace_of(target: BuildTarget, progress: Progress) -> Iterator[Path]:
    """Hold the folder of a target's group, empty at first.

    Its path never changes, because paths reach the compiler. nvcc derives the names of internal symbols from the source
    path, and compiler caches compare the paths of headers. With one folder for all Pythons of a group, two builds of
    one target are equal to the byte.
    """

    def wait(holder: str) -> None:
        progress.step(f"{target.cell.id}: waiting for another build of {target.cell.group}: {holder}")

    with claim_folder(workspaces() / target.cell.group, wait=wait) as folder:
        yield folder


def describe(target: BuildTarget, toolkit: str) -> str:
    """Describe the versions and GPU architectures of a build."""
    torch = f", torch {target.torch_release}" if target.torch_release else ""
    architectures = ", ".join(map(str, target.architectures))
    return f"Python {target.cell.python}, CUDA {toolkit}{torch}, for {architectures}"
