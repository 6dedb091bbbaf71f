"""GPU code for tests, laid out as nvcc writes it: cubins and PTX with the names of kernels, in fat binaries."""

import struct
from collections.abc import Sequence

PTX, SASS = 1, 2
LZ4, ZSTD = 0x2000, 0x8000


def cubin(*kernels: str, functions: Sequence[str] = ()) -> bytes:
    """An ELF file with symbols of kernels, and of functions that only kernels call."""
    names = b"\0" + b"".join(f"{name}\0".encode() for name in (*kernels, *functions))
    symbols = bytes(24)
    for name, flags in [*((name, 0x10) for name in kernels), *((name, 0) for name in functions)]:
        symbols += struct.pack("<IBBHQQ", names.index(f"\0{name}\0".encode()) + 1, 0x12, flags, 1, 0, 0)
    start = 64 + 3 * 64
    headers = bytes(64)
    headers += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, start, len(names), 0, 0, 1, 0)
    headers += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, start + len(names), len(symbols), 1, 0, 8, 24)
    ident = b"\x7fELF\2\1\1\x41\x08".ljust(16, b"\0")
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 0) + headers + names + symbols


def ptx(*kernels: str) -> bytes:
    """Portable assembly."""
    return b".version 9.0\n" + b"".join(f".visible .entry {name}(\n)\n{{ret;}}\n".encode() for name in kernels)


def entry(kind: int, architecture: int, code: bytes, flags: int = 0, *, size: int = 0, header: int = 64) -> bytes:
    """Entry of a fat binary, whose packed code says that it has `size` bytes, and whose header that it has `header`."""
    packed = len(code) if flags & (LZ4 | ZSTD) else 0
    code = code.ljust(len(code) + 7 & ~7, b"\0")
    return struct.pack("<HxxIQI8xI8xQ8xQ", kind, header, len(code), packed, architecture, flags, size) + code


def fatbin(*entries: bytes, header: int = 16) -> bytes:
    """Container of entries."""
    content = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, header, len(content)) + bytes(max(0, header - 16)) + content


def literals(code: bytes) -> bytes:
    """A block of LZ4 that repeats nothing."""
    return b"\xf0" + b"\xff" * ((len(code) - 15) // 255) + bytes([(len(code) - 15) % 255]) + code
