"""Wheels as zip files: what strangers made is checked before it is unpacked, what is packed here is reproducible."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.system.files import atomic_write
from wheelmill.wheel.findings import Code, Finding

COMPRESSIONS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""What a wheel's members may be packed with: every installer reads these."""
MAX_MEMBERS: Final = 100_000
MAX_UNPACKED: Final = 16 << 30
"""Bytes. The largest CUDA wheels unpack to about 4 GiB."""
MAX_RATIO: Final = 100
"""Unpacked over packed. Machine code packs 2 to 20 times; bombs start at 1,000."""

_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError)


def check_archive(path: Path) -> tuple[Finding, ...]:
    """Say why a file must not be unpacked: no zip, unsafe names, duplicates, links, encryption, bombs.

    zipfile reads no more than the sizes that were declared, so checking those is enough.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            refusals = tuple(_refusals(path, archive.infolist()))
            if refusals:
                return refusals
            broken = archive.testzip()
    except _UNREADABLE as error:
        return (Finding(code=Code.ARCHIVE, detail=f"not a readable zip: {error}"),)
    if broken is not None:
        return (Finding(code=Code.ARCHIVE, detail=f"{broken!r} does not match its checksum"),)
    return ()


def _refusals(path: Path, members: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    if len(members) > MAX_MEMBERS:
        yield Finding(code=Code.ARCHIVE, detail=f"{len(members)} members, more than {MAX_MEMBERS}")
        return
    for name, count in Counter(str(PurePosixPath(member.filename)) for member in members).items():
        if count > 1:
            yield Finding(code=Code.ARCHIVE, detail=f"{name!r} stands in it {count} times")
    for member in members:
        if not _is_safe(member.orig_filename):
            yield Finding(code=Code.PATH, detail=f"{member.orig_filename!r} leads out of its folder")
        if stat.S_ISLNK(member.external_attr >> 16):
            yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is a symbolic link")
        if member.flag_bits & 0x1:
            yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is encrypted")
        if member.compress_type not in COMPRESSIONS:
            yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is neither stored nor deflated")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(path.stat().st_size, 1 << 20):
        yield Finding(code=Code.ARCHIVE, detail=f"unpacks to {unpacked} bytes, which looks like a zip bomb")


def _is_safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and not set(name) & set("\\:\0")


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
    """Zip a folder in sorted order, ``.dist-info`` last as PEP 427 recommends, times and owners left out.

    The zip depends on nothing but its content: the same folder gives the same bytes.
    """
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
