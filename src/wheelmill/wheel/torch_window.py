"""In which torches a wheel could load at all, by the symbols that it leaves open.

That they exist is necessary and not sufficient: the same name may stand for something else. So this never makes a wheel
fit; and of a torch that the table does not have, nothing is said.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.errors import WheelmillError
from wheelmill.names import TorchVersion
from wheelmill.system import process
from wheelmill.wheel.elf import SharedObject, open_symbols
from wheelmill.wheel.torch_symbols import TorchSymbols, may_be_torchs, shipped_symbols

_NAMESPACES: Final = ("2at", "3c10", "5torch", "6caffe2")
_SURE: Final = tuple(f"_ZN{kind}{name}" for name in _NAMESPACES for kind in ("", "K"))
"""How functions of torch's namespaces begin: one that no torch of the table defines is of a torch that it lacks."""
_MACHINE: Final = "x86_64"
"""Of the wheels that the table was made from."""
_TOLD: Final = 3
"""Symbols that a torch lacks; one that is too old lacks hundreds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchFit:
    """What one torch has of the symbols that a wheel needs."""

    torch: TorchVersion
    lacks: tuple[str, ...] = ()
    """The first few that it does not define, mangled; none when it defines all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchWindow:
    """In which torches a wheel could load."""

    symbols: int
    """How many of torch's it needs."""
    cuda: bool
    """Whether some of them are only in torches that are built with CUDA."""
    torches: tuple[TorchFit, ...]
    """Those that are known, ascending: of any other nothing can be said."""

    def lacking(self, torch: TorchVersion) -> tuple[str, ...] | None:
        """The first few symbols that a torch does not define, none when it defines all; None when it is not known."""
        return next((fit.lacks for fit in self.torches if fit.torch == torch), None)

    def __str__(self) -> str:
        """``its symbols exist in torch 2.10 and 2.11 only``."""
        runs = list(_runs(self.torches))
        known = f"{self.torches[0].torch} to {self.torches[-1].torch}" if self.torches else ""
        if not known:
            return "in which torches its symbols exist is not known"
        if not runs:
            return f"its symbols exist in no torch from {known}"
        if all(not fit.lacks for fit in self.torches):
            return f"its symbols exist in every torch from {known}"
        texts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]  # noqa: PLR2004
        return f"its symbols exist in torch {', '.join(texts)} only"


def _runs(torches: Sequence[TorchFit]) -> Iterator[list[TorchVersion]]:
    """Neighbours that define all."""
    run: list[TorchVersion] = []
    for fit in torches:
        if not fit.lacks:
            run.append(fit.torch)
        elif run:
            yield run
            run = []
    if run:
        yield run


def window_of(libraries: Sequence[SharedObject], table: TorchSymbols | None = None) -> TorchWindow | None:
    """Find out in which torches the libraries of a wheel could load together.

    Args:
        libraries: every shared object of the wheel.
        table: what torches define; the one that ships with wheelmill, when none is given.

    Returns:
        None when they need no symbol of torch, or it cannot be told: they are for another processor.

    Raises:
        UnreadableError: the table that ships is damaged.
    """
    wanted = frozenset(filter(may_be_torchs, open_symbols(tuple(libraries))))
    if not wanted or not {each.machine for each in libraries} <= {_MACHINE, None}:
        return None
    table = table or shipped_symbols(wanted)
    if table is None:
        return None
    places = {name: table.places[name] for name in wanted if name in table.places}
    nowhere = {name: (0, 0) for name in wanted - places.keys() if name.startswith(_SURE)}
    if not (needed := places | nowhere):
        return None
    abi = cxx11_abi_of(libraries)
    return TorchWindow(
        symbols=len(needed),
        cuda=any(not without and anywhere for anywhere, without in needed.values()),
        torches=tuple(
            TorchFit(
                torch=build.torch,
                lacks=tuple(sorted(name for name, (any_of, _) in needed.items() if not any_of >> number & 1)[:_TOLD]),
            )
            for number, build in enumerate(table.summary.builds)
            if abi in (None, build.cxx11_abi)
        ),
    )


def cxx11_abi_of(libraries: Iterable[SharedObject]) -> bool | None:
    """Which C++ ABI code expects of torch, by the way that its symbols spell ``std::string``; None when none has one.

    https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """
    names = {
        symbol.name
        for each in libraries
        for symbol in each.undefined
        if "3c10" in symbol.name or "5torch" in symbol.name
    }
    if any("__cxx11" in name for name in names):
        return True
    return False if any("RKSs" in name for name in names) else None


def readable(symbol: str) -> str:
    """A symbol as C++ writes it, where this machine has ``c++filt``; else as it is."""
    if not symbol.startswith("_Z") or not (demangler := shutil.which("c++filt")):
        return symbol
    try:
        return process.run([demangler, symbol], timeout=10).strip() or symbol
    except WheelmillError:
        return symbol
