"""Build numbers (PEP 427): how a wheel that was rebuilt reaches people who have the first one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from wheelmill.build.provenance import BuiltWheel, keep_provenance, provenance_path
from wheelmill.names import Sha256
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import pack, unpack
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.record import record_of


def assign_build_number(built: BuiltWheel, published: Mapping[str, Sha256]) -> BuiltWheel | None:
    """Give a wheel the name that it can be published under: other bytes than the published ones get the next number.

    Args:
        built: a wheel that was just built, without a build number.
        published: the hashes of all published wheels, by file name.

    Returns:
        The wheel, unchanged when it is the first of its name; None when it is published byte for byte.
    """
    own = WheelName.parse(built.file.filename)
    others = (WheelName.parse(filename) for filename in published)
    latest = max((other.build[:1] or (0,) for other in others if structs.replace(other, build=()) == own), default=None)
    if latest is None:
        return built
    if _is_published(built.file, latest[0], published):
        return None
    file = with_build_number(built.file, latest[0] + 1, built.file.path.parent)
    rebuilt = BuiltWheel(file=file, provenance=replace(built.provenance, sha256=file.sha256))
    keep_provenance(rebuilt)
    built.file.path.unlink()
    provenance_path(built.file.path).unlink()
    return rebuilt


def _is_published(file: WheelFile, number: int, published: Mapping[str, Sha256]) -> bool:
    """Whether the wheel, under the latest build number, has the published bytes; 1.0 may be published as 1.0.0."""
    if number == 0:
        return published.get(file.filename) == file.sha256
    with temporary_folder() as folder:
        again = with_build_number(file, number, folder)
        return published.get(again.filename) == again.sha256


def with_build_number(file: WheelFile, number: int, output: Path) -> WheelFile:
    """Write a wheel again under a build number: in its file name, in WHEEL and in RECORD.

    Args:
        file: a wheel without a build number.
        number: 1 or more; installers prefer the higher one.
        output: the folder for the new wheel.
    """
    name = structs.replace(WheelName.parse(file.filename), build=(number, ""))
    with temporary_folder() as unpacked:
        unpack(file.path, unpacked)
        (dist_info,) = unpacked.glob("*.dist-info")
        wheel = dist_info / "WHEEL"
        wheel.write_bytes(wheel.read_bytes().rstrip(b"\r\n") + f"\nBuild: {number}\n".encode())
        (dist_info / "RECORD").write_bytes(record_of(unpacked, dist_info.name))
        pack(unpacked, output / name.filename)
    return WheelFile.at(output / name.filename)
