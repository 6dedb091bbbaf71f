"""Wheels as zip files: foreign ones are checked before they are unpacked, and ours are packed reproducibly."""

from __future__ import annotations

import io
import os
import shutil
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from wheelmill.errors import UnreadableError
from wheelmill.system.files import MAX_FILENAME, atomic_write
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.layout import check_members, find_directory
from wheelmill.wheel.limits import (
    MAX_DIRECTORY,
    MAX_FINDINGS,
    MAX_MEMBERS,
    MAX_PATH,
    MAX_RATIO,
    MAX_UNPACKED,
)

COMPRESSIONS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The compression methods that a wheel may use, because every installer reads them."""

_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""What zipfile raises; ``RuntimeError`` is for encrypted members, its subclass for unknown compression."""


def open_archive(file: IO[bytes] | io.RawIOBase) -> zipfile.ZipFile:
    """Open a wheel as a zip, here or on a server, without reading its members.

    Raises:
        UnreadableError: it is no zip, or has more members than any wheel.
    """
    directory = find_directory(file)
    if directory.size > MAX_DIRECTORY:
        raise UnreadableError(
            "members-too-large", f"the list of its members has {directory.size} bytes, more than {MAX_DIRECTORY}"
        )
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", file))
    except _BROKEN as error:
        raise UnreadableError("zip-invalid", f"not a readable zip: {error}") from None
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise UnreadableError("members-too-many", f"it has {len(members)} members, more than {MAX_MEMBERS}")
    if len(members) != directory.members or any(each.header_offset >= directory.start for each in members):
        raise UnreadableError("zip-invalid", "not a readable zip: the list of its members and its end disagree")
    if not all(each.filename for each in members):
        raise UnreadableError("zip-invalid", "not a readable zip: a member has no name")
    return archive


@contextmanager
def open_member(archive: zipfile.ZipFile, member: str | zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member; no more can be read of it than its declared size.

    Raises:
        UnreadableError: it is not there, or what is read of it is broken.
    """
    try:
        listed = archive.getinfo(member) if isinstance(member, str) else member
    except KeyError:
        raise UnreadableError("member-absent", f"it has no {member}") from None
    if listed.compress_type not in COMPRESSIONS:
        raise UnreadableError("method-unknown", f"{listed.filename} is neither stored nor deflated")
    try:
        with archive.open(listed) as file:
            yield file
    except UnreadableError:
        raise
    except _BROKEN as error:
        raise UnreadableError("member-damaged", f"{listed.filename} cannot be unpacked: {error}") from None


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Read a member as a whole.

    Args:
        archive: the wheel or other zip, opened for reading.
        name: the path of the member in the archive.
        most: how many bytes it may have.

    Raises:
        UnreadableError: it is not there, is broken or larger.
    """
    with open_member(archive, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UnreadableError("member-too-large", f"{name} has more than {most} bytes")
    return content


def check_archive(path: Path) -> tuple[Finding, ...]:
    """Say why a file must not be unpacked: no zip, or two in one, unsafe names, duplicates, links, encryption, bombs.

    Every byte of a file without findings was read.
    """
    try:
        with path.open("rb") as file, open_archive(file) as archive:
            if findings := check_list(archive, path.stat().st_size):
                return findings
            check_members(file, archive.infolist())
    except (UnreadableError, OSError) as error:
        return (Finding(code=Code.ARCHIVE, detail=str(error)),)
    return ()


def check_list(archive: zipfile.ZipFile, size: int) -> tuple[Finding, ...]:
    """Say what of that the list of a wheel's members shows, without reading any member.

    Args:
        archive: the wheel, here or on a server.
        size: its bytes.
    """
    return tuple(islice(_refusals(archive.infolist(), size), MAX_FINDINGS))


def _refusals(members: list[zipfile.ZipInfo], size: int) -> Iterator[Finding]:
    names = Counter(str(PurePosixPath(member.filename)) for member in members)
    for name, count in names.items():
        if count > 1:
            yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is in it {count} times")
    files = {str(PurePosixPath(member.filename)) for member in members if not member.is_dir()}
    for name in files.intersection(str(parent) for each in names for parent in PurePosixPath(each).parents[:-1]):
        yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is a file, and a folder with others")
    for member in members:
        yield from _refusals_of(member)
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(size, 1 << 20):
        yield Finding(code=Code.ARCHIVE, detail=f"unpacks to {unpacked} bytes, which looks like a zip bomb")


def _refusals_of(member: zipfile.ZipInfo) -> Iterator[Finding]:
    if not _is_safe(member.orig_filename):
        yield Finding(
            code=Code.PATH,
            detail=f"{member.orig_filename!r} leads out of its folder",
        )
    if len(member.filename) > MAX_PATH or any(len(part.encode()) > MAX_FILENAME for part in member.filename.split("/")):
        yield Finding(code=Code.PATH, detail=f"{member.filename!r:.40}... is a longer name than disks hold")
    if stat.S_ISLNK(member.external_attr >> 16):
        yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is a symbolic link")
    if member.flag_bits & 0x1:
        yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is encrypted")
    if member.compress_type not in COMPRESSIONS:
        yield Finding(code=Code.ARCHIVE, detail=f"{member.filename!r} is neither stored nor deflated")


def _is_safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    is_plain = not any(character in "\\:\x7f" or character < " " for character in name)
    return bool(parts) and not name.startswith("/") and ".." not in parts and is_plain


SOURCE_DATE_EPOCH: Final = 315_532_800
"""1980-01-01, the earliest time that a zip can hold: one date for everything that is built.

https://reproducible-builds.org/docs/source-date-epoch/
"""

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
"""Whose file modes members have (4.4.2 of https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT)."""


def unpack(wheel: Path, directory: Path) -> None:
    """Unpack a wheel that was checked, or just made here; programs in it stay executable."""
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


def pack_members(members: Mapping[str, bytes]) -> bytes:
    """Zip a few small files from memory in their order, uncompressed: the same everywhere, whatever zlib is there."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = _UNIX
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)
    return out.getvalue()
