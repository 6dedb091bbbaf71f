"""Build numbers: how a wheel that was built again reaches people who have the first one's version (PEP 427)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.pack import pack, unpack
from wheelmill.wheel.record import record_of


def with_build_number(file: WheelFile, number: int, output: Path) -> WheelFile:
    """Write a wheel again under a build number: in its file name, in WHEEL and in RECORD.

    Args:
        file: a wheel without one.
        number: 1 or more; installers prefer the higher one.
        output: the folder for the new wheel.
    """
    name = replace(WheelName.parse(file.filename), build=(number, ""))
    with tempfile.TemporaryDirectory(prefix="wheelmill-") as folder:
        unpacked = Path(folder)
        unpack(file.path, unpacked)
        (dist_info,) = unpacked.glob("*.dist-info")
        wheel = dist_info / "WHEEL"
        wheel.write_bytes(wheel.read_bytes().rstrip(b"\r\n") + f"\nBuild: {number}\n".encode())
        (dist_info / "RECORD").write_bytes(record_of(unpacked, dist_info.name))
        pack(unpacked, output / name.filename)
    return WheelFile.at(output / name.filename)
