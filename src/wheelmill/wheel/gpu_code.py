"""GPU code of a shared object, read from ``.nv_fatbin``, its kernels, and the GPUs on which it runs.

NVIDIA does not document the container; this reader agrees with ``cuobjdump --list-elf --list-ptx`` on ten targets of
CUDA 12.4 and 13.0. The section is a row of containers, padded with zeros: u32 magic, u16 version, u16 header size, u64
size of the rest. Each is a row of entries: u16 kind, u32 header size at 4, u64 size at 8, u32 architecture at 28, u64
flags at 40.

Kernels have their names in the symbol table of a cubin, which is an ELF file, or in the text of PTX. nvcc packs PTX,
and with ``-Xfatbin -compress-all`` cubins as well: as a block of LZ4, or since CUDA 12.8 as Zstandard, which only the
factory reads.
"""

from __future__ import annotations

import re
import struct
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from mmap import mmap
from typing import Final, Literal, NamedTuple

from wheelmill.errors import UnreadableError
from wheelmill.names import Architecture, CudaVersion

CARDS: Final = {
    Architecture(7, 0): ("V100", "Titan V"),
    Architecture(7, 5): ("T4", "RTX 20 series", "GTX 16 series", "Quadro RTX", "Titan RTX"),
    Architecture(8, 0): ("A100", "A800", "A30"),
    Architecture(8, 6): (
        *("A2", "A10", "A10G", "A16", "A40", "A2000", "A4000", "A4500", "A5000", "A6000"),
        "RTX 30 series",
    ),
    Architecture(8, 7): ("Jetson Orin",),
    Architecture(8, 9): ("L4", "L20", "L40", "L40S", "RTX 40 series", "RTX Ada"),
    Architecture(9, 0): ("H100", "H200", "H20", "H800", "GH200"),
    Architecture(10, 0): ("B200", "GB200"),
    Architecture(10, 3): ("B300", "GB300"),
    Architecture(11, 0): ("Jetson Thor",),
    Architecture(12, 0): ("RTX 50 series", "RTX PRO"),
    Architecture(12, 1): ("GB10", "DGX Spark"),
}
"""The GPUs that people may have, by compute capability: https://developer.nvidia.com/cuda-gpus"""
_COMMON_WORDS: Final = frozenset({"nvidia", "geforce", "tesla", "jetson"})
"""Words that do not distinguish cards."""
CARD_WORDS: Final = {
    gpu: tuple(" ".join(word for word in card.lower().split() if word not in _COMMON_WORDS) for card in cards)
    for gpu, cards in CARDS.items()
}
"""The words that identify each card; in a series, only its number does."""
_TEGRA: Final = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Jetson's GPUs: https://developer.nvidia.com/cuda-legacy-gpus; Thor was 10.1 until CUDA 13."""


def read_gpu(text: str) -> Architecture:
    """Read the name of a GPU: ``9.0``, ``90``, ``sm_90``, ``h100``, ``rtx 4090`` or that of nvidia-smi.

    Raises ValueError for an unknown or ambiguous one. The ``a`` of ``sm_90a`` is of code, not of a GPU.
    """
    number = text.strip().lower().removeprefix("sm").removeprefix("_").rstrip("af")
    if number.isascii() and number.isdecimal() and len(number) in (2, 3):
        return Architecture.parse(f"{number[:-1]}.{number[-1]}")
    if "." in number:
        return Architecture.parse(number)
    written = text.lower().replace("rtx", " rtx ").replace("gtx", " gtx ").replace("-", " ").replace("_", " ")
    words = frozenset(written.split())
    named = [gpu for gpu, cards in CARD_WORDS.items() if any(_is_card(card, words) for card in cards)]
    if len(named) != 1:
        raise ValueError(f"expected a GPU such as h100 or 'rtx 4090', or its compute capability, 9.0, not {text!r}")
    return named[0]


def _is_card(card: str, said: frozenset[str]) -> bool:
    """True if words name a card. A series is named by its number: 4090 or 4070ti, but 6000 is of no series."""
    *_, last = words = card.split()
    if last == "series":
        numbers = (word.rstrip("abcdefghijklmnopqrstuvwxyz") for word in said)
        of_series = (number for number in numbers if number.startswith(words[-2]) and not number.endswith("00"))
        return any(len(number) == len("4090") for number in of_series)
    return said.issuperset(words)


def runs_on(code: Architecture, gpu: Architecture) -> bool:
    """True if machine code for one architecture runs on a GPU.

    Plain code runs on later GPUs of its major. Code for a family (``10.0f``) runs on that family, which so far is the
    same. Code with features of one architecture (``9.0a``) runs on no other. Code for a Tegra runs on no other GPU, and
    no other code runs on a Tegra.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability
    """
    built_for, own = (code.major, code.minor), (gpu.major, gpu.minor)
    if code.feature == "a" or _TEGRA & {built_for, own}:
        return built_for == own
    return code.major == gpu.major and code.minor <= gpu.minor


def is_for_one_gpu(code: Architecture) -> bool:
    """True if machine code runs only on the compute capability in its name, by the rules of `runs_on`."""
    return code.feature == "a" or (code.major, code.minor) in _TEGRA


def compiles_for(ptx: Architecture, gpu: Architecture) -> bool:
    """True if a driver can compile portable assembly for a GPU.

    Plain PTX is for every later GPU; with features of one architecture or family it runs where such machine code does.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#ptx-compatibility
    """
    if ptx.feature:
        return runs_on(ptx, gpu)
    return (ptx.major, ptx.minor) <= (gpu.major, gpu.minor)


def running_code(
    gpu: Architecture, sass: Iterable[Architecture], ptx: Iterable[Architecture]
) -> tuple[Literal["machine code", "PTX"], Architecture] | None:
    """Kind and architecture of the code that runs on a GPU, machine code (`sass`) first; None if none does."""
    if machine := [code for code in sass if runs_on(code, gpu)]:
        return "machine code", max(machine)
    if portable := [code for code in ptx if compiles_for(code, gpu)]:
        return "PTX", max(portable)
    return None


def code_for(
    gpu: Architecture, sass: Iterable[Architecture], ptx: Iterable[Architecture]
) -> Literal["machine code", "PTX", ""]:
    """Kind of a wheel's code for a GPU, by `running_code`; empty if none runs there."""
    running = running_code(gpu, sass, ptx)
    return running[0] if running else ""


def lacks_code_for(
    gpu: Architecture,
    sass: Iterable[Architecture],
    ptx: Iterable[Architecture],
    *,
    driver: CudaVersion | None,
    cuda: CudaVersion | None,
) -> str | None:
    """Explain why no code of a wheel runs on a GPU; None if some does. PTX needs a `driver` that knows its `cuda`."""
    runs = code_for(gpu, sass, ptx)
    if not runs:
        return f"has no machine code for {gpu.sm} and no PTX that could become it"
    if runs == "PTX" and driver and cuda and driver < cuda:
        return f"has only PTX of CUDA {cuda} for {gpu.sm}, and the driver knows CUDA {driver}"
    return None


_MAGIC: Final = 0xBA55ED50
_CONTAINER: Final = struct.Struct("<IHHQ")
_ENTRY: Final = struct.Struct("<HxxIQ12xI8xQ")
_PTX, _CUBIN = 1, 2
_NAMED: Final = {_CUBIN: "sm", _PTX: "compute"}
_ARCHITECTURES: Final = range(10, 1_000)
"""Numbers that an `Architecture` can have."""
_ARCHITECTURE_SPECIFIC: Final = 1 << 20
_FAMILY_SPECIFIC: Final = 1 << 21
_PIECE_BYTES: Final = 1 << 16


@dataclass(frozen=True, kw_only=True)
class DeviceCode:
    """Architectures with machine code, and those with portable assembly that a driver can compile."""

    sass: tuple[str, ...]
    """``sm_80``, ``sm_90a``, in ascending order."""
    ptx: tuple[str, ...]
    """``compute_120``, in ascending order."""
    sizes: Mapping[str, int]
    """Bytes of the code for each architecture, as compressed by nvcc."""
    kernels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Architectures with code of each kernel, of both kinds."""
    unread: frozenset[str] = frozenset()
    """Architectures with code whose kernels were not read: it may have any."""

    def kernels_without(self, gpu: Architecture, gpus: Iterable[Architecture]) -> Iterator[str]:
        """Yield the kernels with code for earlier GPUs and none for this one of `gpus`, for which others have code.

        Code of one architecture or family, such as ``sm_90a``, counts as made for that alone. A kernel that runs on
        this GPU and on none of another's may be its substitute there: libraries have pairs of them to choose from.
        """
        by_code = {code: _gpus_of(code, gpus) for code in self.unread.union(*self.kernels.values())}
        maybe = frozenset[Architecture]().union(*(by_code[code] for code in self.unread))
        runs = {codes: maybe.union(*(by_code[code] for code in codes)) for codes in {*self.kernels.values()}}
        complete = {found for found in runs.values() if gpu in found}
        lacking = {found for found in {*runs.values()} if gpu not in found and all(found & each for each in complete)}
        earlier = {code for code in by_code if code[-1].isdigit() and Architecture.of_code(code) < gpu}
        for kernel, codes in self.kernels.items() if complete else ():
            if runs[codes] in lacking and not earlier.isdisjoint(codes):
                yield kernel


def _gpus_of(code: str, gpus: Iterable[Architecture]) -> frozenset[Architecture]:
    """The GPUs on which code for an architecture runs: ``sm_90``, or ``compute_90`` for portable assembly."""
    runs = runs_on if code.startswith("sm") else compiles_for
    return frozenset(gpu for gpu in gpus if runs(Architecture.of_code(code), gpu))


class _Target(NamedTuple):
    """What code is for, in the order in which it is listed."""

    kind: int
    number: int
    feature: str

    @property
    def name(self) -> str:
        """Name as in nvcc's options: ``sm_90a``, or ``compute_120`` for portable assembly."""
        return f"{_NAMED[self.kind]}_{self.number}{self.feature}"


class _Entry(NamedTuple):
    """Code in a fat binary: its flags, and where its header, its code and what follows start."""

    target: _Target
    flags: int
    header: int
    code: int
    end: int


def read_device_code(
    content: bytes | mmap, start: int = 0, stop: int | None = None, *, kernels: KernelReader | None = None
) -> DeviceCode:
    """List the code in a ``.nv_fatbin`` section by its headers; `kernels` reads the names of kernels."""
    sizes: Counter[_Target] = Counter()
    targets: defaultdict[str, set[str]] = defaultdict(set)
    unread: set[str] = set()
    for entry in _entries(content, start, len(content) if stop is None else stop):
        sizes[entry.target] += entry.end - entry.code
        name = entry.target.name
        names = kernels.read(content, entry) if kernels else None
        if names is None:
            unread.add(name)
        for kernel in names or ():
            targets[kernel].add(name)
    sass = {target.name: sizes[target] for target in sorted(sizes) if target.kind == _CUBIN}
    ptx = {target.name: sizes[target] for target in sorted(sizes) if target.kind == _PTX}
    return DeviceCode(
        sass=tuple(sass),
        ptx=tuple(ptx),
        sizes=sass | ptx,
        kernels={kernel: frozenset(names) for kernel, names in targets.items()},
        unread=frozenset(unread),
    )


def _entries(content: bytes | mmap, start: int, stop: int) -> Iterator[_Entry]:
    at = start
    while (at := _next_container(content, at, stop)) >= 0:
        _magic, _version, header, size = _CONTAINER.unpack_from(content, at)
        end = at + header + size
        if header < _CONTAINER.size or end > stop:
            raise UnreadableError("fatbin-cut-off", "the fat binary section ends inside a container")
        at += header
        while at + _ENTRY.size <= end:
            kind, header, size, number, flags = _ENTRY.unpack_from(content, at)
            if header < _ENTRY.size:
                raise UnreadableError("fatbin-entry", "the fat binary section has an entry without a header")
            code = at + header
            if code + size > end:
                raise UnreadableError("fatbin-entry", "the fat binary section has an entry that leaves its container")
            if kind in _NAMED and number in _ARCHITECTURES:
                yield _Entry(_Target(kind, number, _feature(flags)), flags, at, code, code + size)
            at = code + size
        at = end


def _next_container(content: bytes | mmap, at: int, stop: int) -> int:
    """Offset of the next container, behind any number of zeros; -1 after the last."""
    while at + 4 <= stop:
        piece = content[at : min(at + _PIECE_BYTES, stop)]
        zeros = len(piece) - len(piece.lstrip(b"\0"))
        at += zeros // 4 * 4
        if zeros == len(piece) or at + 4 > stop:
            continue
        (word,) = struct.unpack_from("<I", content, at)
        if word != _MAGIC:
            raise UnreadableError("fatbin-magic", f"the fat binary section has {word:#x} instead of a container")
        if at + _CONTAINER.size > stop:
            raise UnreadableError("fatbin-cut-off", "the fat binary section ends inside a container's header")
        return at
    return -1


def _feature(flags: int) -> str:
    if flags & _ARCHITECTURE_SPECIFIC:
        return "a"
    return "f" if flags & _FAMILY_SPECIFIC else ""


MAX_SYMBOL_NAME: Final = 1 << 16
"""Bytes. Mangled names of templates reach some ten thousand."""
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
            raise UnreadableError("elf-names", f"a name is outside its table, or longer than {MAX_SYMBOL_NAME} bytes")
        self._left -= end - place
        if self._left < 0:
            raise UnreadableError("elf-names", f"its names have more than {_SHARED} times the bytes of their table")
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

    def read(self, content: bytes | mmap, entry: _Entry) -> frozenset[str] | None:
        """Read the names of an entry of a fat binary; None if its code cannot be read, or no work is left for it."""
        target, flags, header, start, end = entry
        if self.work <= 0 or end - start > _MAX_CODE:
            return None
        code = content[start:end]
        try:
            if packing := flags & _PACKED:
                code = self._unpack(content[header:start], code, packing)
            return frozenset(self._in_ptx(code) if target.kind == _PTX else self._in_cubin(code))
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
    """Unpack a block of at most `size` bytes (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md)."""
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
