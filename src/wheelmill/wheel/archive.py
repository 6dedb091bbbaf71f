"""Wheels as zip files that strangers made: nothing is unpacked before it was checked."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

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
