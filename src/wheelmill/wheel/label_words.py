"""The words of a local version: ``cu132torch2.13gite2743ab`` says cu, and behind it 132, then torch, and 2.13.

Everybody glues them together in another order, with dots or without, and puts dates and commits between.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from wheelmill.system.files import MAX_FILENAME

ACCELERATORS: Final = {"cpu": "the CPU alone", "rocm": "ROCm", "musa": "MUSA", "vulkan": "Vulkan", "xpu": "Intel's XPU"}
"""What a wheel is built for that needs no CUDA, by the words that say so."""
CUDA: Final = ("cuda", "cu")
TORCH: Final = ("torch", "pt")
CXX11_ABI: Final = "cxx11abi"

_WORDS: Final = (*CUDA, *TORCH, CXX11_ABI, *ACCELERATORS)
_HEXADECIMAL: Final = frozenset("0123456789abcdef")
_SHORTEST_COMMIT: Final = 6
"""Characters of a commit or a date that stands between dots."""


def read_words(local: str) -> Iterator[tuple[str, str]]:
    """Read a local version from its start to its end.

    A word stands at the start, behind another one, or behind what may be a number or a commit: ``fd27788pt2.5.0cu121``.
    In other letters nothing is looked for: ``opt2`` and ``nocuda12`` say neither torch nor CUDA.

    Args:
        local: the local version in lower case, its parts joined by dots (PEP 440).

    Yields:
        Each word, with all that stands behind it; a dot between the two is left out.
    """
    rest = ".".join(part for part in local[:MAX_FILENAME].split(".") if not _is_commit_or_date(part))
    while rest:
        if word := next(filter(rest.startswith, _WORDS), None):
            rest = rest[len(word) :]
            yield word, rest.removeprefix(".")
        else:
            letters = "" if rest[0] in _HEXADECIMAL else "".join(takewhile(str.isalpha, rest))
            rest = rest[max(len(letters), 1) :]


def number_in_front(text: str) -> str:
    """The number that a text starts with, and those behind it with a dot between: ``2.9.0``; empty for none."""
    number = "".join(takewhile("0123456789.".__contains__, text))
    return number.partition("..")[0].rstrip(".") if number[:1].isdigit() else ""


def _is_commit_or_date(part: str) -> bool:
    """Whether a part between dots is one, as in ``20260330.cu128torch2110.98024f``: no number of what precedes."""
    return len(part) >= _SHORTEST_COMMIT and _HEXADECIMAL.issuperset(part)
