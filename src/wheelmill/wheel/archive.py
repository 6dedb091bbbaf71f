"""Wheels as zip files: foreign ones are checked before they are unpacked, and ours are packed reproducibly.

A zip has members, a list of them and an end record. Installers trust either the list or each member's own header, found
from the end or from the beginning. If the parts follow each other without gaps, every byte has one meaning, and all
installers unpack the same. Limits stop small malicious files from claiming sizes that no real wheel reaches.

https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from wheelmill.errors import UnreadableError
from wheelmill.system.files import MAX_FILENAME, atomic_write
from wheelmill.wheel.findings import Code, Finding

_END: Final = struct.Struct("<4sHHHHIIH")
_LOCATOR: Final = struct.Struct("<4sIQI")
_WIDE_END: Final = struct.Struct("<4sQHHIIQQQQ")
"""End record of zip64, with numbers of 64 bits; the locator behind it has its offset."""
_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_SATURATED: Final = (0xFFFF, 0xFFFF_FFFF)
"""The placeholder for a number that is in a zip64 record."""
_DESCRIBED_BEHIND: Final = 0x8
"""Flag: checksum and sizes stand behind the data."""
_UTF8: Final = 0x800
_ZIP64, _UNICODE_PATH = 1, 0x7075
_PACKED, _UNPACKED = 1 << 16, 1 << 20
"""Bytes that are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class Directory:
    """List of a zip's members."""

    members: int
    start: int
    size: int
    """In bytes."""


def find_directory(file: IO[bytes] | io.RawIOBase) -> Directory:
    """Read the end record of a zip, which must end its file."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _WIDE_END.size - _LOCATOR.size - _END.size))
    tail = file.read(_WIDE_END.size + _LOCATOR.size + _END.size) or b""
    signature, *disks, here, members, size, start, comment = _END.unpack(tail[-_END.size :].ljust(_END.size, b"\0"))
    if signature != b"PK\5\6" or comment:
        raise UnreadableError("zip-ambiguous", "not a readable zip, or one with other bytes behind its end")
    end = length - _END.size
    locator = tail[-_END.size - _LOCATOR.size : -_END.size]
    if locator.startswith(b"PK\6\7") and len(tail) == _WIDE_END.size + _LOCATOR.size + _END.size:
        end -= _LOCATOR.size + _WIDE_END.size
        wide = _WIDE_END.unpack_from(tail)
        if wide[:2] != (b"PK\6\6", _WIDE_END.size - 12) or _LOCATOR.unpack(locator)[1:] != (0, end, 1):
            raise UnreadableError("zip-ambiguous", "not a readable zip: its zip64 records do not lie where they should")
        narrow = (*disks, here, members, size, start)
        *disks, here, members, size, start = wide[4:]
        if any(old not in (new, *_SATURATED) for old, new in zip(narrow, wide[4:], strict=True)):
            raise UnreadableError("zip-ambiguous", "not a readable zip: it has two ends that disagree")
    if any(disks) or here != members or start + size != end:
        raise UnreadableError("zip-ambiguous", "not a readable zip: its list of members is not right before its end")
    return Directory(members=members, start=start, size=size)


def check_members(file: IO[bytes], members: Iterable[zipfile.ZipInfo]) -> None:
    """Check a zip from its first byte to its list of members, and all packed data; `members` may be in any order."""
    start = find_directory(file).start
    at = file.seek(0)
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset != at:
            raise UnreadableError("bytes-unlisted", f"its bytes at {at} belong to no member of its list, or to two")
        _check_header(file, member)
        _check_data(file, member)
        if member.flag_bits & _DESCRIBED_BEHIND:
            _check_description(file, member)
        at = file.tell()
    if at != start:
        raise UnreadableError("bytes-unlisted", f"its bytes at {at} belong to no member of its list")


def _check_header(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Compare the header before a member's data, which streaming installers trust, with the list."""
    header = file.read(_LOCAL.size).ljust(_LOCAL.size, b"\0")
    signature, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(header)
    name, extra = file.read(name_length), dict(_extras(file.read(extra_length)))
    if _SATURATED[1] in (packed, size):
        size, packed = struct.unpack("<QQ", extra.get(_ZIP64, b"")[:16].rjust(16, b"\xff"))
    listed_name = member.orig_filename.encode("utf-8" if member.flag_bits & _UTF8 else "cp437")
    said, listed = (crc, packed, size), (member.CRC, member.compress_size, member.file_size)
    later = (0, 0, 0) if flags & _DESCRIBED_BEHIND else listed
    if (signature, flags, method, name) != (b"PK\3\4", member.flag_bits, member.compress_type, listed_name):
        raise UnreadableError("header-differs", f"{member.filename!r}: header and list differ in name or method")
    if said not in (listed, later):
        raise UnreadableError("header-differs", f"{member.filename!r}: header and list differ in sizes")
    if _UNICODE_PATH in {*extra, *dict(_extras(member.extra))}:
        filename = member.orig_filename  # later Pythons put the second name in its place
        raise UnreadableError("second-name", f"{filename!r} has a second name, in an extra field")


def _extras(fields: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(fields):
        kind, size = struct.unpack_from("<HH", fields, at)
        yield kind, fields[at + 4 : at + 4 + size]
        at += 4 + size


def _check_data(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    size = crc = 0
    for piece in _unpacked(file, member):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > member.file_size:
            raise UnreadableError("member-too-large", f"{member.filename!r} has more than {member.file_size} bytes")
    if (size, crc) != (member.file_size, member.CRC):
        raise UnreadableError("member-damaged", f"{member.filename!r} does not match its size and checksum")


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Unpack a member in pieces, and leave the file position behind it."""
    if member.compress_type == zipfile.ZIP_STORED or not member.compress_size:
        yield from _packed(file, member)
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for packed in _packed(file, member):
        left = packed
        while left and not inflate.eof:
            try:
                piece = inflate.decompress(left, _UNPACKED)
            except zlib.error as error:
                raise UnreadableError("member-damaged", f"{member.filename!r} cannot be unpacked: {error}") from None
            yield piece
            left = inflate.unconsumed_tail
        if left or inflate.unused_data:
            raise UnreadableError("member-damaged", f"{member.filename!r} has other bytes behind its packed ones")
    yield inflate.flush()
    if not inflate.eof:
        raise UnreadableError("member-damaged", f"{member.filename!r} is cut off")


def _packed(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    left = member.compress_size
    while left:
        piece = file.read(min(left, _PACKED))
        if not piece:
            raise UnreadableError("member-damaged", f"{member.filename!r} is cut off")
        left -= len(piece)
        yield piece


def _check_description(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Check the data descriptor behind a member's data: with or without a signature, of 32 or 64 bits."""
    at = file.tell()
    values = (member.CRC, member.compress_size, member.file_size)
    forms = [form for form in ("<III", "<IQQ") if form == "<IQQ" or max(values) <= _SATURATED[1]]
    for known in (before + struct.pack(form, *values) for before in (b"PK\7\x08", b"") for form in forms):
        file.seek(at)
        if file.read(len(known)) == known:
            return
    raise UnreadableError("descriptor-differs", f"{member.filename!r}: descriptor and list differ in checksum or sizes")


MAX_WHEEL: Final = 2 << 30
"""Bytes that a wheel stays under, because GitHub takes no larger asset
(https://docs.github.com/en/repositories/releasing-projects-on-github/about-releases#storage-and-bandwidth-quotas)."""

MAX_MEMBERS: Final = 50_000
"""The largest CUDA wheels have some 15,000."""
MAX_DIRECTORY: Final = 16 << 20
"""Bytes of the list of members. The largest CUDA wheels have 3 MB."""
MAX_PATH: Final = 1_000
"""Characters of a member's name."""
MAX_UNPACKED: Final = 16 << 30
"""Bytes. The largest CUDA wheels unpack to about 4 GiB."""
MAX_RATIO: Final = 100
"""Unpacked over packed. Machine code packs 2 to 20 times; bombs start at 1,000."""
MAX_FINDINGS: Final = 100
"""Findings of one kind that are reported."""

MAX_RECORD: Final = 16 << 20
"""Bytes: as many members as there may be, with long names."""
MAX_METADATA: Final = 1 << 20
"""Bytes, also of WHEEL. Long descriptions have a quarter of it."""
MAX_FIELDS: Final = 4_000
"""Fields of METADATA. Real ones have some hundreds of requirements at most."""
MAX_CONTENT_TYPE: Final = 255
"""Characters. email's parser takes hours for a megabyte of parameters."""

MAX_SYMBOLS: Final = 1_000_000
"""Symbols in all shared objects of a wheel. All of torch's together have half as many."""
MAX_SECTIONS: Final = 10_000
"""Sections of a shared object. Real ones have some dozens."""
MAX_READS: Final = 500_000
"""Reads of header fields and texts, in all shared objects of a wheel. One takes some hundreds."""

MAX_DISTRIBUTIONS: Final = 10_000
"""Distributions in one folder of an environment. Large ones have a thousand."""


COMPRESSIONS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The compression methods that a wheel may use, because every installer reads them."""

_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""Errors of zipfile: ``RuntimeError`` is for encrypted members, its subclass for unknown compression."""


def open_archive(file: IO[bytes] | io.RawIOBase) -> zipfile.ZipFile:
    """Open a wheel as a zip; raises UnreadableError if it is none, or has more members than any wheel."""
    directory = find_directory(file)
    if directory.size > MAX_DIRECTORY:
        message = f"the list of its members has {directory.size} bytes, more than {MAX_DIRECTORY}"
        raise UnreadableError("members-too-large", message)
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
    """Open a member, up to its declared size; raises UnreadableError if it is absent or broken."""
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
    """Read a member of at most `most` bytes; raises UnreadableError if it is absent, broken or larger."""
    with open_member(archive, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UnreadableError("member-too-large", f"{name} has more than {most} bytes")
    return content


def check_archive(path: Path) -> tuple[Finding, ...]:
    """List the reasons not to unpack a file: no zip, or two in one, unsafe names, duplicates, links, encryption, bombs.

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
    """List the reasons of `check_archive` that the list of members shows, without reading any; `size` is in bytes."""
    return tuple(islice(_refusals(archive.infolist(), size), MAX_FINDINGS))


def _refusals(members: list[zipfile.ZipInfo], size: int) -> Iterator[Finding]:
    names = [folded(member.filename.removesuffix("/")) for member in members]
    for name, count in Counter(names).items():
        if count > 1:
            detail = f"{name!r} is in it {count} times, as some file systems compare names"
            yield Finding(code=Code.ARCHIVE, detail=detail)
    files = {name for name, member in zip(names, members, strict=True) if not member.is_dir()}
    for name in files.intersection(str(parent) for each in names for parent in PurePosixPath(each).parents[:-1]):
        yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is a file, and a folder with others")
    for member in members:
        yield from _refusals_of(member)
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(size, 1 << 20):
        yield Finding(code=Code.ARCHIVE, detail=f"unpacks to {unpacked} bytes, which looks like a zip bomb")


def _refusals_of(member: zipfile.ZipInfo) -> Iterator[Finding]:
    name = member.orig_filename
    if not _is_portable(name):
        detail = f"{name!r:.80} is no name that every file system holds and every installer unpacks alike"
        yield Finding(code=Code.PATH, detail=detail)
    elif not (name.isascii() or member.flag_bits & _UTF8):
        yield Finding(code=Code.PATH, detail=f"{name!r:.80} is not marked as UTF-8, which pip guesses and uv refuses")
    if stat.S_IFMT(member.external_attr >> 16) not in _KINDS:
        yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is a symbolic link or a device")
    if member.flag_bits & 0x1:
        yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is encrypted")
    if member.compress_type not in COMPRESSIONS:
        yield Finding(code=Code.ARCHIVE, detail=f"{name!r} is neither stored nor deflated")


_KINDS: Final = (0, stat.S_IFREG, stat.S_IFDIR)
"""Kinds of members in their modes; 0 if a zip has none."""
_OF_WINDOWS: Final = frozenset('<>:"|?*\\')
_DEVICES: Final = frozenset(
    ("con", "conin$", "conout$", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)
"""Devices of Windows, whatever the extension: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""


def folded(name: str) -> str:
    """Form of a name by which file systems that ignore case, or forms of Unicode, compare it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _is_portable(name: str) -> bool:
    """True if a member's name is a path of printable names below its folder, all of which every file system holds."""
    return len(name) <= MAX_PATH and all(
        part.isprintable()
        and part[-1:] not in ("", ".", " ")
        and _OF_WINDOWS.isdisjoint(part)
        and len(part.encode()) <= MAX_FILENAME
        and folded(part).partition(".")[0].rstrip() not in _DEVICES
        for part in name.removesuffix("/").split("/")
    )


SOURCE_DATE_EPOCH: Final = 315_532_800
"""1980-01-01, the earliest time that a zip can hold: one date for everything that is built
(https://reproducible-builds.org/docs/source-date-epoch/)."""

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
"""Whose file modes members have (4.4.2 of https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT)."""


def unpack(wheel: Path, directory: Path) -> None:
    """Unpack a wheel that was checked or made locally; programs in it stay executable."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, directory))
            if member.external_attr >> 16 & 0o111 and path.is_file():
                path.chmod(0o755)


def pack(directory: Path, destination: Path) -> None:
    """Zip a folder reproducibly: sorted, ``.dist-info`` last as PEP 427 recommends, without times and owners."""
    members = sorted(
        (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()),
        key=lambda name: (name.partition("/")[0].endswith(".dist-info"), name),
    )
    with atomic_write(destination) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in members:
            path = directory / name
            member = zipfile.ZipInfo(name, _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            member.file_size = path.stat().st_size  # lets zipfile choose zip64 for large members
            with path.open("rb") as source, archive.open(member, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def pack_members(members: Mapping[str, bytes]) -> bytes:
    """Zip a few small files in their order, uncompressed, so that the bytes do not depend on the release of zlib."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = _UNIX
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)
    return out.getvalue()
