"""What the libraries of a wheel need from torch's libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from wheelmill.wheel.shared_objects import SharedObject, open_symbols
from wheelmill.wheel.torch_symbols import TorchSymbols, may_be_torchs, shipped_symbols
from wheelmill.wheel.torch_window import TorchFit, TorchWindow

_NAMESPACES: Final = ("2at", "3c10", "5torch", "6caffe2")
_SURE: Final = tuple(f"_ZN{kind}{name}" for name in _NAMESPACES for kind in ("", "K"))
"""How functions of torch's namespaces begin: one that no torch of the table defines is of a torch that it lacks."""
_MACHINE: Final = "x86_64"
"""Of the wheels that the table was made from."""
_TOLD: Final = 3
"""The number of missing symbols that are named; a torch that is too old lacks hundreds."""


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
