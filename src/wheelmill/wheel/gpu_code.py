"""GPU code of a shared object, read from ``.nv_fatbin``, and the GPUs on which it runs.

NVIDIA does not document the container; this reader agrees with ``cuobjdump --list-elf --list-ptx`` on ten targets of
CUDA 12.4 and 13.0. The section is a row of containers, padded with zeros: u32 magic, u16 version, u16 header size, u64
size of the rest. Each is a row of entries: u16 kind, u32 header size at 4, u64 size at 8, u32 architecture at 28, u64
flags at 40.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from mmap import mmap
from typing import TYPE_CHECKING, Final, Literal

from wheelmill.errors import UnreadableError
from wheelmill.names import Architecture, CudaVersion

if TYPE_CHECKING:
    from wheelmill.wheel.kernels import KernelReader

CARDS: Final = {
    Architecture(7, 0): ("V100", "Titan V"),
    Architecture(7, 5): ("T4", "RTX 20 series", "GTX 16 series", "Quadro RTX", "Titan RTX"),
    Architecture(8, 0): ("A100", "A800", "A30"),
    Architecture(8, 6): (
        "A2",
        "A10",
        "A10G",
        "A16",
        "A40",
        "A2000",
        "A4000",
        "A4500",
        "A5000",
        "A6000",
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
        return any(
            len(number) == 4 and number.startswith(words[-2]) and not number.endswith("00")  # noqa: PLR2004
            for number in numbers
        )
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
    """Explain why no code of a wheel runs on a GPU; None if some does.

    The driver compiles portable assembly, so `driver`, the newest CUDA that it knows, must cover the wheel's `cuda`.
    """
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
    """The bytes of the code for each of them, compressed where nvcc did that."""
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


def read_device_code(
    content: bytes | mmap, start: int = 0, stop: int | None = None, *, kernels: KernelReader | None = None
) -> DeviceCode:
    """List the code in a ``.nv_fatbin`` section, `content` from `start` to `stop`.

    Only headers are read, and by `kernels` the names of kernels.
    """
    found: dict[int, Counter[tuple[int, str]]] = {_PTX: Counter(), _CUBIN: Counter()}
    table: defaultdict[str, set[str]] = defaultdict(set)
    unread: set[str] = set()
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
            code, entry_at = entry + entry_header, entry
            entry = code + entry_size
            if entry > end:
                raise UnreadableError("fatbin-entry", "the fat binary section has an entry that leaves its container")
            if kind in _NAMED and architecture in _ARCHITECTURES:
                found[kind][architecture, _feature(flags)] += entry_size
                name, names = f"{_NAMED[kind]}_{architecture}{_feature(flags)}", None
                if kernels and kernels.can_read(entry_size):
                    names = kernels.read(content[entry_at:code], content[code:entry], flags, is_ptx=kind == _PTX)
                if names is None:
                    unread.add(name)
                for written in names or ():
                    table[written].add(name)
        at = end
    sass = {f"sm_{number}{feature}": found[_CUBIN][number, feature] for number, feature in sorted(found[_CUBIN])}
    ptx = {f"compute_{number}{feature}": found[_PTX][number, feature] for number, feature in sorted(found[_PTX])}
    return DeviceCode(
        sass=tuple(sass),
        ptx=tuple(ptx),
        sizes=sass | ptx,
        kernels={name: frozenset(codes) for name, codes in table.items()},
        unread=frozenset(unread),
    )


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
