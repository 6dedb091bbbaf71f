"""Zip files that depend on nothing but their content: the same folder gives the same bytes."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Final

from wheelmill.system.files import atomic_write

SOURCE_DATE_EPOCH: Final = 315_532_800
"""1980-01-01, the earliest time that a zip can hold: one date for everything that is built.

https://reproducible-builds.org/docs/source-date-epoch/
"""

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def unpack(wheel: Path, directory: Path) -> None:
    """Unpack a wheel whose archive was checked, or that was just made here; programs in it stay executable."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, directory))
            if member.external_attr >> 16 & 0o111 and path.is_file():
                path.chmod(0o755)


def pack(directory: Path, destination: Path) -> None:
    """Zip a folder in sorted order, ``.dist-info`` last as PEP 427 recommends, times and owners left out."""
    members = sorted(
        (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()),
        key=lambda name: (name.partition("/")[0].endswith(".dist-info"), name),
    )
    with (
        atomic_write(destination) as out,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
    ):
        for name in members:
            path = directory / name
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            member.file_size = path.stat().st_size  # lets zipfile choose zip64 for what needs it
            with path.open("rb") as source, archive.open(member, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)
