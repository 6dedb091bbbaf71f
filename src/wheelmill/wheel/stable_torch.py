"""The stable ABI of torch, which is all that wheels for many torches use: functions of C, and none of its C++.

https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from torch_abi_audit import minimum_version

from wheelmill.names import TorchVersion
from wheelmill.wheel.mangling import ENTITY, MANGLED, NESTED, name_in

_SHIMS: Final = ("aoti_torch_", "torch_")
_OF_THE_RUNTIME: Final = re.compile(
    rf"{ENTITY}(?:{NESTED})?(?:S[abdiost]|9__gnu_cxx|10__cxxabiv1) | _Z(?:nw|na|dl|da)", re.VERBOSE
)
"""``std::`` and its like, and the operators ``new`` and ``delete``. Older systems leave some without a version."""
_OF_TORCH: Final = re.compile(rf"{NESTED}(?:2at|3c10|5torch|6caffe2)")
"""Torch's namespaces, wherever they stand in a name: ``std::vector<at::Tensor>`` is torch's, too."""


@dataclass(frozen=True, kw_only=True)
class ShimsUsed:
    """The functions of torch's stable ABI that a wheel calls."""

    oldest: TorchVersion | None
    """The first torch that has all of them; None where it calls none that is known."""
    newest_ones: tuple[str, ...]
    """Those that no older torch has; none where that is the first with a stable ABI."""
    unknown: tuple[str, ...]
    """Those of a torch that is newer than what is known of them."""


def shims_in(symbols: Iterable[str]) -> ShimsUsed:
    """Say which torch has the shims among the symbols that a wheel leaves open."""
    oldest, newest_ones, unknown = minimum_version(sorted(name for name in symbols if name.startswith(_SHIMS)))
    return ShimsUsed(oldest=TorchVersion(*oldest[:2]) if oldest else None, newest_ones=newest_ones, unknown=unknown)


def beyond_stable_abi(symbols: Iterable[str]) -> tuple[str, ...]:
    """What a wheel leaves open and only torch's C++ can define, by names that people know: ``at::_ops::empty::call``.

    That is every name of C++ but those of its own runtime: what the wheel and its libraries define is not open, and
    CUDA and Python have names of C.
    """
    found = (name for name in symbols if name.startswith(MANGLED))
    return tuple(sorted({name_in(name) for name in found if _OF_TORCH.search(name) or not _OF_THE_RUNTIME.match(name)}))
