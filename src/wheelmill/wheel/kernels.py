"""Names of the kernels in GPU code: in the symbol table of a cubin, which is an ELF file, or in the text of PTX.

nvcc packs PTX, and with ``-Xfatbin -compress-all`` cubins as well: as a block of LZ4, or since CUDA 12.8 as Zstandard,
which only the factory reads.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wheelmill.errors import UnreadableError
from wheelmill.wheel.archive import MAX_SYMBOL_NAME

_SHARED: Final = 4
"""Most bytes of all names as a multiple of their table: some names are the ends of others."""


class Texts:
    """String table of an ELF file: texts that end with a zero."""

    def __init__(self, table: bytes) -> None:
        self._table = table
        self._left = _SHARED * len(table)

    def at(self, place: int) -> str:
        """Read the text at an offset, unless it is longer than any real one or the table is read too often."""
        end = self._table.find(b"\0", place, place + MAX_SYMBOL_NAME + 1)
        if end < 0:
            raise UnreadableError(
                "elf-names", f"it has a name outside of its table, or one of more than {MAX_SYMBOL_NAME} bytes"
            )
        self._left -= end - place
        if self._left < 0:
            raise UnreadableError(
                "elf-names", f"its names are together more than {_SHARED} times as long as their table"
            )
        return self._table[place:end].decode(errors="replace")


_LZ4, _ZSTANDARD, _PACKED = 0x2000, 0x8000, 0xF000
"""Flags of an entry of a fat binary; the last are those of all kinds of compression."""
_MAX_WINDOW: Final = 27
"""Logarithm of the bytes that a decoder of Zstandard keeps, its own default."""
_SIZES: Final = struct.Struct("<16xI36xQ")
"""Bytes of an entry's code as it is packed and unpacked, in its header."""
_HEADER: Final = struct.Struct("<6s34xQ10xHH")
"""First bytes of an ELF file; offset, entry size and number of its section headers."""
_SECTION: Final = struct.Struct("<4xI16xQQI20x")
"""Type, offset, size and string table of a section."""
_SYMBOL: Final = struct.Struct("<IBBH16x")
"""Name, type, flags and section of a symbol."""
_SYMTAB, _FUNCTION, _KERNEL = 2, 2, 0x10
"""SHT_SYMTAB, STT_FUNC, and NVIDIA's STO_CUDA_ENTRY."""
_PTX_KERNEL: Final = re.compile(rb"\.entry\s+([\w$%]+)")
_PACKED_COST, _UNPACKED_COST, _KERNEL_COST = 24, 8, 1 << 10
"""Work for a byte of LZ4, a byte that it unpacks to, and a name; that for any other byte is 1."""
_LONG, _GOES_ON = 15, 255
"""Numbers of LZ4 behind which another follows."""
_MAX_CODE: Final = 1 << 27
"""Bytes of code, as unpacked, that are read at once."""


@dataclass(kw_only=True)
class KernelReader:
    """Reader of the names of a wheel's kernels, until its work is done or used up."""

    work: int = 1 << 30
    """Remaining work, of about ten seconds. The tables of vllm have 50 MB."""

    def can_read(self, size: int) -> bool:
        """True if work is left for code of this many bytes."""
        return self.work > 0 and size <= _MAX_CODE

    def read(self, header: bytes, code: bytes, flags: int, *, is_ptx: bool) -> frozenset[str] | None:
        """Read an entry of a fat binary; None if its code cannot be read."""
        try:
            code = self._unpack(header, code, flags & _PACKED) if flags & _PACKED else code
            return frozenset(self._in_ptx(code) if is_ptx else self._in_cubin(code))
        except (ValueError, struct.error, IndexError):
            return None

    def _use(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise ValueError("its kernels are too much work")

    def _unpack(self, header: bytes, code: bytes, kind: int) -> bytes:
        packed, size = _SIZES.unpack_from(header)
        if kind == _LZ4:
            self._use(_PACKED_COST * len(code) + _UNPACKED_COST * size)
            return _unpack_lz4(code[:packed], size)
        if kind == _ZSTANDARD:
            self._use(len(code) + size)
            return _unpack_zstandard(code[:packed], size)
        raise ValueError("its code is packed in another way")

    def _in_ptx(self, code: bytes) -> Iterator[str]:
        self._use(len(code))
        for entry in _PTX_KERNEL.finditer(code):
            self._use(_KERNEL_COST)
            yield entry[1].decode()

    def _in_cubin(self, code: bytes) -> Iterator[str]:
        magic, start, entry, count = _HEADER.unpack_from(code)
        if magic != b"\x7fELF\2\1" or entry != _SECTION.size:
            raise ValueError("not an ELF file of 64 bits")
        sections = list(_SECTION.iter_unpack(code[start : start + entry * count]))
        _, start, size, link = next((each for each in sections if each[0] == _SYMTAB), (0, 0, 0, count))
        _, names, length, _ = sections[link]
        if max(start + size, names + length) > len(code):
            raise ValueError("its tables end behind it")
        self._use(entry * count + size + length)
        texts = Texts(code[names : names + length])
        for name, kind, flags, section in _SYMBOL.iter_unpack(code[start : start + size]):
            if section and kind & 0xF == _FUNCTION and flags & _KERNEL:
                self._use(_KERNEL_COST)
                yield texts.at(name)


def _unpack_zstandard(packed: bytes, size: int) -> bytes:
    """Unpack a frame of at most `size` bytes; raises ValueError without the factory's library."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        try:
            from backports import zstd
        except ImportError:
            raise ValueError("Zstandard is not read") from None
    try:
        unpacked = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _MAX_WINDOW}).decompress(
            packed, max_length=size
        )
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    if len(unpacked) != size:
        raise ValueError("its packed code is damaged")
    return unpacked


def _unpack_lz4(packed: bytes, size: int) -> bytes:
    """Unpack a block of at most `size` bytes.

    https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
    """
    unpacked, at = bytearray(), 0

    def length_of(nibble: int) -> int:
        nonlocal at
        length, more = nibble, _GOES_ON if nibble == _LONG else 0
        while more == _GOES_ON:
            more = packed[at]
            length, at = length + more, at + 1
        return length

    while at < len(packed):
        token, at = packed[at], at + 1
        literals = length_of(token >> 4)
        unpacked += packed[at : at + literals]
        at += literals
        if at >= len(packed):
            break
        distance, at = packed[at] | packed[at + 1] << 8, at + 2
        length = length_of(token & 0xF) + 4
        start = len(unpacked) - distance
        if not 0 <= start < len(unpacked) <= size - length:
            break
        repeated = unpacked[start : start + length]
        unpacked += repeated if length <= distance else (repeated * (length // distance + 1))[:length]
    if len(unpacked) != size:
        raise ValueError("its packed code is damaged")
    return bytes(unpacked)
