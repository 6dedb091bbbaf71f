"""Finishing: a repaired wheel gets its label, in file name, METADATA and RECORD, and is packed the same way every time.

The three must agree: pip refuses a wheel whose METADATA names another version; uv reinstalls it on every sync.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from wheelmill.errors import CompileError
from wheelmill.plan.records import BuildTarget
from wheelmill.wheel.elf import shared_objects_of
from wheelmill.wheel.metadata import dist_info_of, is_pure, labelled
from wheelmill.wheel.pack import pack, unpack
from wheelmill.wheel.record import record_of
from wheelmill.wheel.records import WheelFile, WheelName


def finish_wheel(repaired: Path, target: BuildTarget, *, workspace: Path, output: Path) -> WheelFile:
    """Label and pack a wheel.

    Args:
        repaired: what auditwheel made.
        target: what it was made for.
        workspace: a folder for what lies between.
        output: the folder for the finished wheel.
    """
    unpacked = workspace / "unpacked"
    unpack(repaired, unpacked)
    (old_dist_info,) = (path.name for path in unpacked.glob("*.dist-info"))
    name = WheelName.parse(repaired.name)
    name = replace(name, version=target.cell.label.on(target.cell.version))
    stem = "-".join(name.filename.split("-")[:2])
    for suffix in (".dist-info", ".data"):
        old = unpacked / (old_dist_info.removesuffix(".dist-info") + suffix)
        if old.exists():
            old.rename(unpacked / (stem + suffix))
    dist_info = unpacked / f"{stem}.dist-info"
    metadata = dist_info / "METADATA"
    metadata.write_bytes(labelled(metadata.read_bytes(), version=name.version, torch=target.cell.torch))
    (dist_info / "RECORD").write_bytes(record_of(unpacked, dist_info.name))
    finished = output / name.filename
    pack(unpacked, finished)
    return WheelFile.at(finished)


def refuse_pure(raw: Path, target: BuildTarget) -> None:
    """Refuse a wheel in which nothing is compiled.

    Raises:
        CompileError: it is one.
    """
    with zipfile.ZipFile(raw) as archive:
        pure = is_pure(archive.read(f"{dist_info_of(archive)}/WHEEL"))
    if pure or not shared_objects_of(raw):
        raise CompileError(
            f"{target.cell.project} {target.cell.version} came out as pure Python: nothing was compiled",
            hint="its setup.py may want a variable (FORCE_CUDA=1 or the like) under 'env' in packages.yml",
        )
