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
_DIGITS: Final = "0123456789abcdef"
_SHORTEST_COMMIT: Final = 6
"""Characters of a commit or a date that stands between dots."""


def read_words(local: str) -> Iterator[tuple[str, str]]:
    """Read a local version from its start to its end.

    A word stands at the start, behind another one, behind what is no letter, or glued to a commit:
    ``fd2778apt2.5.0cu121``. In other letters nothing is looked for: ``adept2.5`` and ``nocuda12`` say neither.

    Args:
        local: the local version in lower case, its parts joined by dots (PEP 440).

    Yields:
        Each word, with all that stands behind it; a dot between the two is left out.
    """
    text = ".".join(part for part in local[:MAX_FILENAME].split(".") if not _is_commit_or_date(part))
    position = end = 0
    while position < len(text):
        may_begin = position == end or not text[position - 1].isalpha() or _ends_with_commit(text[:position])
        word = next((word for word in _WORDS if text.startswith(word, position)), None) if may_begin else None
        position += len(word) if word else 1
        if word:
            end = position
            yield word, text[end:].removeprefix(".")


def number_in_front(text: str) -> str:
    """The number that a text starts with, and those behind it with a dot between: ``2.9.0``; empty for none."""
    number = "".join(takewhile("0123456789.".__contains__, text))
    return number.partition("..")[0].rstrip(".") if number[:1].isdigit() else ""


def _is_commit_or_date(part: str) -> bool:
    """Whether a part between dots is one, as in ``20260330.cu128torch2110.98024f``: no number of what precedes."""
    return len(part) >= _SHORTEST_COMMIT and not part.strip(_DIGITS)


def _ends_with_commit(text: str) -> bool:
    return len(text) - len(text.rstrip(_DIGITS)) >= _SHORTEST_COMMIT
