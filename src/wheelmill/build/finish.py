"""Finishing: a repaired wheel gets its label, in file name, METADATA and RECORD, and is packed the same way every time.

The three must agree: pip refuses a wheel whose METADATA names another version; uv reinstalls it on every sync.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import structs
from packaging.utils import canonicalize_name

from wheelmill.build.inside import write_inside
from wheelmill.config.model import Package, RequiresDist, projects_of
from wheelmill.errors import BuildError, UnreadableError
from wheelmill.plan.targets import BuildTarget
from wheelmill.wheel.archive import check_archive, open_archive, pack, unpack
from wheelmill.wheel.build_facts import BuildFacts
from wheelmill.wheel.labelled_metadata import add_label
from wheelmill.wheel.metadata import is_pure, metadata_in, read_metadata, wheel_file_in
from wheelmill.wheel.name import WheelFile, WheelName, written_parts
from wheelmill.wheel.record import record_of
from wheelmill.wheel.shared_objects import shared_objects_of


def finish_wheel(
    repaired: Path, target: BuildTarget, facts: BuildFacts, *, source: Path, workspace: Path, output: Path
) -> WheelFile:
    """Label a wheel, let it say how it was built, and pack it.

    Args:
        repaired: the wheel that auditwheel repaired.
        target: the build target that it was made for.
        facts: how it was built.
        source: the folder of its source, patched.
        workspace: the folder for intermediate files.
        output: the folder for the finished wheel.

    Raises:
        BuildError: ``requires_dist`` changes what the wheel does not require, or adds what it does; a shared object
            cannot be read.
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
    """Refuse changes to requirements that no longer apply to the source, which would go unnoticed otherwise.

    Raises:
        BuildError: one of them.
    """
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
    """Refuse a wheel that a build backend should not have made, before more of it is read.

    Raises:
        BuildError: it cannot be read, it is another project's wheel, or nothing in it is compiled.
    """
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
