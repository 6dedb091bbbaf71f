"""Table of the symbols that each torch exports and the torches in which a wheel could load by it.

The table is packed by gzip. A line of JSON has its sources; then each line has a symbol's name, the torches that define
it, and, if fewer, those that define it outside of their CUDA libraries. Both are sets of bits in hexadecimal, the
lowest for the first torch. Names are kept whole, not as hashes: none can be taken for another.

Existing symbols are necessary and not sufficient: the same name may stand for something else. So the table never makes
a wheel fit, and it says nothing of a torch outside it.

Only the beginning of a C++ name is read. Demanglers read all of it, and are programs in C++ that foreign bytes would
reach.
https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectVersion, TorchVersion
from wheelmill.system import own_installation
from wheelmill.system.records import Count, plain_of, record_of
from wheelmill.web.pages import printable

if TYPE_CHECKING:
    from wheelmill.wheel.shared_objects import SharedObject

TABLE: Final = "torch-symbols.gz"
_WORDS: Final = ("2at", "c10", "torch", "caffe2", "THP", "THC")
"""Words in the names of torch's symbols, and in few of those linked into it: MKL, protobuf, fbgemm."""
_MAX_TABLE_BYTES: Final = 128 << 20
"""Bytes, unpacked. Sixteen torches have 40 MB."""
_FEW: Final = 10_000
"""Symbols that are found one by one; a wheel may name a million, and then every line is read."""


def may_be_torchs(symbol: str) -> bool:
    """True if torch could define a symbol, by its name: the table has no others."""
    return any(word in symbol for word in _WORDS)


@dataclass(frozen=True, kw_only=True)
class MachineLibraries:
    """Libraries in torch's wheel for one processor."""

    machine: str
    """``x86_64`` or ``aarch64``."""
    names: tuple[str, ...]
    """File names, ascending: ``libgomp.so.1``."""


@dataclass(frozen=True, kw_only=True)
class TorchBuild:
    """One wheel of torch whose symbols were read."""

    torch: TorchVersion
    release: ProjectVersion
    wheel: str
    """Its file name."""
    cxx11_abi: bool
    """True if it has the new C++ ABI: the names of symbols with strings in them differ."""
    symbols: int
    """Count of torch's symbols that it exports."""
    libraries: tuple[MachineLibraries, ...]
    """Libraries in its own wheels, by processor."""
    nvidia: tuple[str, ...]
    """Libraries in NVIDIA's wheels that it requires on x86_64, ascending: ``libcublas.so.13``."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """Symbols of torch that one build exports."""

    everywhere: frozenset[str]
    """By the libraries that a build without CUDA has, too."""
    with_cuda: frozenset[str]
    """By those that only builds with CUDA have."""

    @classmethod
    def of(cls, libraries: tuple[SharedObject, ...]) -> Self:
        """Sort the symbols that the libraries of a CUDA build define."""
        exported: dict[bool, set[str]] = {True: set(), False: set()}
        for library in libraries:
            name = library.name.rpartition("/")[2]
            needs_cuda = any(word in name for word in ("_cuda", "nvshmem", "nvrtc"))
            exported[needs_cuda].update(filter(may_be_torchs, library.defined))
        return cls(everywhere=frozenset(exported[False]), with_cuda=frozenset(exported[True] - exported[False]))

    @property
    def all(self) -> frozenset[str]:
        """Symbols inside and outside of the CUDA libraries."""
        return self.everywhere | self.with_cuda


@dataclass(frozen=True, kw_only=True)
class TableSummary:
    """The first line of the table."""

    schema: str = "wheelmill.torch-symbols/2"
    checked: str
    """The day that a wheel was read last: ``2026-11-22``."""
    source: str
    builds: tuple[TorchBuild, ...]
    """Ascending."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the first line of a table: unpacking all of it takes a third of a second."""
        with _table_at(path) as file:
            return cls.read_from(file)

    @classmethod
    def read_from(cls, file: gzip.GzipFile) -> Self:
        """Read the line at the beginning of an unpacked table."""
        summary: Self = record_of(cls, json.loads(file.readline(_MAX_TABLE_BYTES)))
        return summary


@dataclass(frozen=True, kw_only=True)
class TorchSymbols:
    """Table of the symbols of each build."""

    summary: TableSummary
    places: Mapping[str, tuple[int, int]]
    """For each symbol the builds that define it, and those that do so outside of their CUDA libraries."""

    @classmethod
    def read(cls, path: Path, wanted: AbstractSet[str] | None = None) -> Self:
        """Read a gzipped table, or only its `wanted` symbols; raises UnreadableError if it is none."""
        with _table_at(path) as file:
            summary = TableSummary.read_from(file)
            if len(content := file.read(_MAX_TABLE_BYTES + 1)) > _MAX_TABLE_BYTES:
                raise ValueError(f"it has more than {_MAX_TABLE_BYTES} bytes")
            lines = content.splitlines() if wanted is None or len(wanted) > _FEW else _lines_of(wanted, content)
            places = {
                name: (int(masks[0], 16), int(masks[-1], 16))
                for name, _, bits in (line.decode().partition(" ") for line in lines)
                if (wanted is None or name in wanted) and (masks := bits.split(" "))
            }
        return cls(summary=summary, places=places)

    @classmethod
    def of(cls, exported: Mapping[TorchBuild, Exported], *, checked: str, source: str) -> Self:
        """Make a table of builds that were read from `source` on the day `checked`."""
        builds = sorted(exported, key=lambda build: build.torch)
        places: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for number, build in enumerate(builds):
            for symbols, outside in ((exported[build].everywhere, 1), (exported[build].with_cuda, 0)):
                for symbol in symbols:
                    anywhere, without = places[symbol]
                    places[symbol] = anywhere | 1 << number, without | outside << number
        summary = TableSummary(checked=checked, source=source, builds=tuple(builds))
        return cls(summary=summary, places=dict(places))

    def exported_by(self, build: TorchBuild) -> Exported:
        """Symbols of one build."""
        bit = 1 << self.summary.builds.index(build)
        everywhere = frozenset(name for name, (_, without) in self.places.items() if without & bit)
        anywhere = frozenset(name for name, (any_of, _) in self.places.items() if any_of & bit)
        return Exported(everywhere=everywhere, with_cuda=anywhere - everywhere)

    def is_torchs(self, symbol: str) -> bool:
        """True if some torch defines a symbol, or could alone define it."""
        return symbol in self.places or symbol.startswith(_SURE)

    def packed(self) -> bytes:
        """Content of the file: the same table gives the same bytes."""
        lines = [json.dumps(plain_of(self.summary))]
        for name, (anywhere, without) in sorted(self.places.items()):
            lines.append(f"{name} {anywhere:x}" if anywhere == without else f"{name} {anywhere:x} {without:x}")
        return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


@contextlib.contextmanager
def _table_at(path: Path) -> Iterator[gzip.GzipFile]:
    """Open a table; errors while it is read name the file."""
    try:
        with gzip.open(path) as file:
            yield file
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableError("symbols-invalid", f"{path} is not a table of torch's symbols: {error}") from None


def _lines_of(symbols: AbstractSet[str], content: bytes) -> Iterator[bytes]:
    """Lines of the symbols that have one, by bisection: to split 50 MB takes longer than to unpack it."""

    def line_at(offset: int) -> bytes:
        return content[content.rfind(b"\n", 0, offset) + 1 : content.find(b"\n", offset)]

    for symbol in symbols:
        begin = f"{symbol} ".encode()
        offset = bisect_left(range(len(content)), begin, key=line_at)
        if offset < len(content) and line_at(offset).startswith(begin):
            yield line_at(offset)


def shipped_symbols(wanted: AbstractSet[str]) -> TorchSymbols | None:
    """Look symbols up in the table that ships, None if there is none; raises UnreadableError if it is damaged."""
    path = own_installation.CONFIG / TABLE
    return _cached_symbols(path, path.stat().st_mtime_ns, frozenset(wanted)) if path.exists() else None


@lru_cache(maxsize=4)  # wheels of one group need the same ones, and unpacking takes a third of a second
def _cached_symbols(path: Path, _changed: int, wanted: frozenset[str]) -> TorchSymbols:
    return TorchSymbols.read(path, wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchFit:
    """Symbols that a wheel needs and one torch lacks."""

    torch: str
    """``2.11`` or ``2.16rc1``."""
    lacks: tuple[str, ...] = ()
    """The first few that it does not define, mangled; none when it defines all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchWindow:
    """Torches in which a wheel could load."""

    symbols: Count
    """Count of torch's symbols that it needs."""
    cuda: bool
    """True if some of them are only in torches built with CUDA."""
    torches: tuple[TorchFit, ...]
    """Known torches, ascending; nothing is known of any other."""

    def lacking(self, torch: TorchVersion) -> tuple[str, ...] | None:
        """First few symbols that a torch does not define, empty if it defines all; None if it is not known."""
        return next((fit.lacks for fit in self.torches if fit.torch == str(torch)), None)

    def __str__(self) -> str:
        """``its symbols exist in torch 2.10 and 2.11 only``."""
        alike = groupby(self.torches, key=lambda fit: not fit.lacks)  # neighbours that define all symbols, or do not
        runs = [[fit.torch for fit in fits] for defines_all, fits in alike if defines_all]
        known = f"{self.torches[0].torch} to {self.torches[-1].torch}" if self.torches else ""
        if not known:
            return "in which torches its symbols exist is not known"
        if not runs:
            return f"its symbols exist in no torch from {known}"
        if all(not fit.lacks for fit in self.torches):
            return f"its symbols exist in every torch from {known}"
        texts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(run) for run in runs]  # noqa: PLR2004
        return f"its symbols exist in torch {', '.join(texts)} only"


MANGLED: Final = "_Z"
ENTITY: Final = r"_Z(?:T[VTISHW]|GV|Z)*"
"""Before the name of what a table, a type's description or a guard belongs to."""
NESTED: Final = r"N[rVK]*[RO]?"
"""Before a name that stands in a namespace or a class."""

_NESTED_NAME: Final = re.compile(ENTITY + NESTED)
_LENGTH: Final = re.compile(r"[0-9]+")
"""Length of the part of a name that follows."""
_MAX_CHARACTERS: Final = 200


def name_in(symbol: str) -> str:
    """Namespaces and name that a symbol begins with: ``c10::SymInt::sym_ne``; else the symbol itself."""
    symbol = symbol[:_MAX_CHARACTERS]
    parts = []
    at = begin.end() if (begin := _NESTED_NAME.match(symbol)) else len(symbol)
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
    return printable("::".join(parts) or symbol)


def describe_symbol(symbol: str) -> str:
    """Name with its symbol, which distinguishes overloaded functions: ``c10::gone (_ZN3c104goneEv)``."""
    name, whole = name_in(symbol), printable(symbol)
    return name if name == whole else f"{name} ({whole})"


_NAMESPACES: Final = ("2at", "3c10", "5torch", "6caffe2")
_SURE: Final = tuple(f"_ZN{kind}{name}" for name in _NAMESPACES for kind in ("", "K"))
"""Prefixes of functions in torch's namespaces: one that no torch of the table defines is of a torch that it lacks."""
_MACHINE: Final = "x86_64"
"""Processor of the wheels that the table was made from."""
_MAX_LACKING: Final = 3
"""Missing symbols that are named; a torch that is too old lacks hundreds."""


def window_of(libraries: Sequence[SharedObject], table: TorchSymbols | None = None) -> TorchWindow | None:
    """Find the torches in which all the libraries of a wheel could load together.

    `table` has what torches define; None takes the table that ships with wheelmill, which raises UnreadableError if it
    is damaged. The result is None if the libraries need no symbol of torch, or are for another processor than the
    table.
    """
    from wheelmill.wheel.shared_objects import open_symbols  # imports pyelftools

    wanted = frozenset(filter(may_be_torchs, open_symbols(tuple(libraries))))
    if not wanted or not {each.machine for each in libraries} <= {_MACHINE, None}:
        return None
    if (table := table or shipped_symbols(wanted)) is None:
        return None
    needed = {name: table.places.get(name, (0, 0)) for name in wanted if table.is_torchs(name)}
    if not needed:
        return None
    abi = cxx11_abi_of(libraries)
    return TorchWindow(
        symbols=len(needed),
        cuda=any(not without and anywhere for anywhere, without in needed.values()),
        torches=tuple(
            TorchFit(
                torch=str(build.torch),
                lacks=tuple(sorted(name for name, (has, _) in needed.items() if not has >> number & 1)[:_MAX_LACKING]),
            )
            for number, build in enumerate(table.summary.builds)
            if abi in (None, build.cxx11_abi)
        ),
    )


def cxx11_abi_of(libraries: Iterable[SharedObject]) -> bool | None:
    """True if code expects torch's new C++ ABI, by how its symbols spell ``std::string``; None if none spells it.

    https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """
    undefined = (symbol.name for library in libraries for symbol in library.undefined)
    names = {name for name in undefined if "3c10" in name or "5torch" in name}
    if any("__cxx11" in name for name in names):
        return True
    return False if any("RKSs" in name for name in names) else None
