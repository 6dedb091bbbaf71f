"""The layout of a zip: its members, the list of them and the end record, one after the other, without gaps.

Installers differ in what they trust: the list, or each member's own header, found from the end or from the beginning.
Where every byte of a file has one meaning, all of them unpack the same.

https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final

from wheelmill.errors import UnreadableError

_END: Final = struct.Struct("<4sHHHHIIH")
_LOCATOR: Final = struct.Struct("<4sIQI")
_WIDE_END: Final = struct.Struct("<4sQHHIIQQQQ")
"""Zip64: the end record with numbers of 64 bits. The locator behind it says where it is."""
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
    """The list of members."""

    members: int
    start: int
    size: int
    """Bytes."""


def find_directory(file: IO[bytes] | io.RawIOBase) -> Directory:
    """Read the end of a zip, which must be the end of its file.

    Raises:
        UnreadableError: something else is there, or the list does not lie right before it.
    """
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
        raise UnreadableError(
            "zip-ambiguous", "not a readable zip: the list of its members does not lie right before its end"
        )
    return Directory(members=members, start=start, size=size)


def check_members(file: IO[bytes], members: Iterable[zipfile.ZipInfo]) -> None:
    """Read a zip from its first byte to its list of members, and all that is packed in it.

    Args:
        file: the zip, opened for reading from any place.
        members: those that stand in its list, in any order.

    Raises:
        UnreadableError: a byte belongs to no member, or to two; a member says something else of itself than the list,
            or unpacks to something else than both say.
    """
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
    """Compare the header before a member's data, which streaming installers believe, with the list."""
    header = file.read(_LOCAL.size).ljust(_LOCAL.size, b"\0")
    signature, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(header)
    name, extra = file.read(name_length), dict(_extras(file.read(extra_length)))
    if _SATURATED[1] in (packed, size):
        size, packed = struct.unpack("<QQ", extra.get(_ZIP64, b"")[:16].rjust(16, b"\xff"))
    listed_name = member.orig_filename.encode("utf-8" if member.flag_bits & _UTF8 else "cp437")
    said, listed = (crc, packed, size), (member.CRC, member.compress_size, member.file_size)
    later = (0, 0, 0) if flags & _DESCRIBED_BEHIND else listed
    if (signature, flags, method, name) != (b"PK\3\4", member.flag_bits, member.compress_type, listed_name):
        raise UnreadableError(
            "header-differs", f"{member.filename!r} has another name or method in its own header than in the list"
        )
    if said not in (listed, later):
        raise UnreadableError(
            "header-differs", f"{member.filename!r} has other sizes in its own header than in the list"
        )
    if _UNICODE_PATH in {*extra, *dict(_extras(member.extra))}:
        raise UnreadableError("second-name", f"{member.filename!r} has a second name, in an extra field")


def _extras(fields: bytes) -> Iterator[tuple[int, bytes]]:
    """The extra fields of a header, by their kinds."""
    at = 0
    while at + 4 <= len(fields):
        kind, size = struct.unpack_from("<HH", fields, at)
        yield kind, fields[at + 4 : at + 4 + size]
        at += 4 + size


def _check_data(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """Unpack a member, and compare what comes out with what was said of it."""
    size = crc = 0
    for piece in _unpacked(file, member):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > member.file_size:
            raise UnreadableError(
                "member-too-large", f"{member.filename!r} unpacks to more than the {member.file_size} bytes it names"
            )
    if (size, crc) != (member.file_size, member.CRC):
        raise UnreadableError("member-damaged", f"{member.filename!r} does not match its size and checksum")


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    """The content of a member, a piece at a time; leaves the file behind it."""
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
    """Read checksum and sizes behind a member's data: with or without a signature, of 32 or of 64 bits."""
    at = file.tell()
    values = (member.CRC, member.compress_size, member.file_size)
    forms = [form for form in ("<III", "<IQQ") if form == "<IQQ" or max(values) <= _SATURATED[1]]
    for known in (before + struct.pack(form, *values) for before in (b"PK\7\x08", b"") for form in forms):
        file.seek(at)
        if file.read(len(known)) == known:
            return
    raise UnreadableError(
        "descriptor-differs",
        f"{member.filename!r} has another checksum or other sizes behind its data than in the list",
    )
