"""Sizes, times and counts as people read them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_KILO: Final = 1000
_THREE_DIGITS: Final = 100
_MINUTE: Final = 60
_HOUR: Final = 3600


@lru_cache(maxsize=4096)  # a site says the same ones over and over
def size(number: float) -> str:
    """``12.3 MB`` for bytes; decimal, as installers write it."""
    for unit in ("bytes", "kB", "MB"):
        if round(number) == 1 and unit == "bytes":
            return "1 byte"
        if round(number) < _KILO:
            return f"{number:.{0 if number >= _THREE_DIGITS or unit == 'bytes' else 1}f} {unit}"
        number /= _KILO
    return f"{number:,.1f} GB"


def duration(seconds: float) -> str:
    """``45 s``, ``17 min`` or ``2.5 h``."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:,.1f} h"


def number_of(number: int, noun: str) -> str:
    """``1 wheel`` or ``2,000 wheels``; the noun is one whose plural takes an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
