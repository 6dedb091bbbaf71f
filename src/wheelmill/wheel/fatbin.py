"""Which GPU architectures a shared object holds code for, read from its ``.nv_fatbin`` section.

NVIDIA does not document the container; what is read here agrees with ``cuobjdump --list-elf --list-ptx`` on ten
targets of CUDA 12.4 and 13.0. The section is a row of containers (u32 magic, u16 version, u16 header size, u64 size
of what follows), each a row of entries (u16 kind, u32 header size at 4, u64 size at 8, u32 architecture at 28, u64
flags at 40), padded with zeros.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import Final

from wheelmill.errors import UnreadableError

_MAGIC: Final = 0xBA55ED50
_CONTAINER: Final = struct.Struct("<IHHQ")
_ENTRY: Final = struct.Struct("<HxxIQ12xI8xQ")
_PTX, _CUBIN = 1, 2
_ARCHITECTURE_SPECIFIC: Final = 1 << 20
_FAMILY_SPECIFIC: Final = 1 << 21
_PIECE: Final = 1 << 16
"""Bytes that are looked through for zeros at once."""


@dataclass(frozen=True, kw_only=True)
class DeviceCode:
    """The architectures with machine code, and those with portable assembly that a driver can compile."""

    sass: tuple[str, ...]
    """``sm_80``, ``sm_90a``, in ascending order."""
    ptx: tuple[str, ...]
    """``compute_120``, in ascending order."""
    sizes: Mapping[str, int]
    """The bytes of the code for each of them, compressed where nvcc did that."""


def read_device_code(content: bytes | mmap, start: int = 0, stop: int | None = None) -> DeviceCode:
    """List what a ``.nv_fatbin`` section holds.

    Args:
        content: the section, or the file that it is in, of which no more than the headers is read.
        start: where the section starts.
        stop: where it ends; None stands for the end of the content.

    Raises:
        UnreadableError: the section is not laid out as described above.
    """
    found: dict[int, Counter[tuple[int, str]]] = {_PTX: Counter(), _CUBIN: Counter()}
    at, stop = start, len(content) if stop is None else stop
    while (at := _next_container(content, at, stop)) >= 0:
        _magic, _version, header, size = _CONTAINER.unpack_from(content, at)
        end = at + header + size
        if header < _CONTAINER.size or end > stop:
            raise UnreadableError("fatbin-cut-off", "the fat binary section ends inside a container")
        entry = at + header
        while entry + _ENTRY.size <= end:
            kind, entry_header, entry_size, architecture, flags = _ENTRY.unpack_from(content, entry)
            if entry_header < _ENTRY.size:
                raise UnreadableError("fatbin-entry", "the fat binary section has an entry without a header")
            found.setdefault(kind, Counter())[architecture, _feature(flags)] += entry_size
            entry += entry_header + entry_size
        if entry > end:
            raise UnreadableError("fatbin-entry", "the fat binary section has an entry that leaves its container")
        at = end
    sass = {f"sm_{number}{feature}": found[_CUBIN][number, feature] for number, feature in sorted(found[_CUBIN])}
    ptx = {f"compute_{number}{feature}": found[_PTX][number, feature] for number, feature in sorted(found[_PTX])}
    return DeviceCode(sass=tuple(sass), ptx=tuple(ptx), sizes=sass | ptx)


def _next_container(content: bytes | mmap, at: int, stop: int) -> int:
    """The offset of the next container, behind any number of zeros; -1 after the last."""
    while at + 4 <= stop:
        piece = content[at : min(at + _PIECE, stop)]
        zeros = len(piece) - len(piece.lstrip(b"\0"))
        at += zeros // 4 * 4
        if zeros == len(piece) or at + 4 > stop:
            continue
        (word,) = struct.unpack_from("<I", content, at)
        if word != _MAGIC:
            raise UnreadableError(
                "fatbin-magic", f"the fat binary section has {word:#x} where a container should start"
            )
        if at + _CONTAINER.size > stop:
            raise UnreadableError("fatbin-cut-off", "the fat binary section ends inside a container's header")
        return at
    return -1


def _feature(flags: int) -> str:
    if flags & _ARCHITECTURE_SPECIFIC:
        return "a"
    return "f" if flags & _FAMILY_SPECIFIC else ""
