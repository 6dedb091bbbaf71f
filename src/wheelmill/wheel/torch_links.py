"""Symbols that a wheel's libraries need of torch's, and checks that they keep to torch's stable ABI.

The stable ABI has functions of C and no C++.

https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.names import TorchVersion
from wheelmill.wheel.shared_objects import SharedObject, open_symbols
from wheelmill.wheel.torch_symbols import (
    ENTITY,
    MANGLED,
    NESTED,
    TorchFit,
    TorchSymbols,
    TorchWindow,
    may_be_torchs,
    name_in,
    shipped_symbols,
)

_NAMESPACES: Final = ("2at", "3c10", "5torch", "6caffe2")
_SURE: Final = tuple(f"_ZN{kind}{name}" for name in _NAMESPACES for kind in ("", "K"))
"""Prefixes of functions in torch's namespaces: one that no torch of the table defines is of a torch that it lacks."""
_MACHINE: Final = "x86_64"
"""Processor of the wheels that the table was made from."""
_TOLD: Final = 3
"""The number of missing symbols that are named; a torch that is too old lacks hundreds."""


def window_of(libraries: Sequence[SharedObject], table: TorchSymbols | None = None) -> TorchWindow | None:
    """Find the torches in which all the libraries of a wheel could load together.

    `table` is what torches define; None is the table that ships with wheelmill. The result is None if the libraries
    need no symbol of torch, or are for another processor than the table.

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
                torch=str(build.torch),
                lacks=tuple(sorted(name for name, (any_of, _) in needed.items() if not any_of >> number & 1)[:_TOLD]),
            )
            for number, build in enumerate(table.summary.builds)
            if abi in (None, build.cxx11_abi)
        ),
    )


def cxx11_abi_of(libraries: Iterable[SharedObject]) -> bool | None:
    """True if code expects torch's new C++ ABI, by how its symbols spell ``std::string``; None if none spells it.

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


_SHIMS: Final = ("aoti_torch_", "torch_")
_OF_THE_RUNTIME: Final = re.compile(
    rf"{ENTITY}(?:{NESTED})?(?:S[abdiost]|9__gnu_cxx|10__cxxabiv1) | _Z(?:nw|na|dl|da)", re.VERBOSE
)
"""``std::`` and its like, and the operators ``new`` and ``delete``. Older systems leave some without a version."""
_OF_TORCH: Final = re.compile(rf"{NESTED}(?:2at|3c10|5torch|6caffe2)")
"""Torch's namespaces, wherever they stand in a name: ``std::vector<at::Tensor>`` is torch's, too."""


@dataclass(frozen=True, kw_only=True)
class ShimsUsed:
    """Functions of torch's stable ABI that a wheel calls."""

    oldest: TorchVersion | None
    """The first torch that has all of them; None where it calls none that is known."""
    newest_ones: tuple[str, ...]
    """Functions that no older torch has; empty if that is the first torch with a stable ABI."""
    unknown: tuple[str, ...]
    """Functions of a torch newer than what is known of them."""


def shims_in(symbols: Iterable[str]) -> ShimsUsed:
    """Find the torch that has the shims among a wheel's undefined symbols."""
    from torch_abi_audit import minimum_version  # slow to import, and few wheels use shims

    oldest, newest_ones, unknown = minimum_version(sorted(name for name in symbols if name.startswith(_SHIMS)))
    return ShimsUsed(oldest=TorchVersion(*oldest[:2]) if oldest else None, newest_ones=newest_ones, unknown=unknown)


def beyond_stable_abi(symbols: Iterable[str]) -> tuple[str, ...]:
    """Undefined symbols of a wheel that only torch's C++ can define, by readable names: ``at::_ops::empty::call``.

    These are all names of C++ but those of its own runtime. Names that the wheel and its libraries define are not
    undefined, and CUDA and Python have names of C.
    """
    found = (name for name in symbols if name.startswith(MANGLED))
    return tuple(sorted({name_in(name) for name in found if _OF_TORCH.search(name) or not _OF_THE_RUNTIME.match(name)}))
