"""Progress display, number formats, the clock, and time limits."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NoReturn, TypeVar

from wheelmill.errors import TimeIsOver

Item = TypeVar("Item")
Warn = Callable[[str], None]
"""Shows a warning, and what to do about it."""
_SHOWN_EACH: Final = 25
"""To show every page of a site would take as long as to make it."""


class Progress:
    """Progress display that shows nothing."""

    def step(self, text: str) -> None:
        """Show on a line of its own that a step began or ended."""

    def line(self, text: str) -> None:
        """Show a running program's last line, or the reason for waiting; empty text ends that."""

    def count(self, items: Iterable[Item], words: str) -> Iterator[Item]:
        """Pass items on, and show their number now and then."""
        for number, item in enumerate(items, start=1):
            if number % _SHOWN_EACH == 0:
                self.line(f"{number:,} {words}")
            yield item

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """Show the bytes received of a download, and its size, None if unknown; called from several threads."""


QUIET: Final = Progress()
"""For callers without a display."""


_KILO: Final = 1000
_THREE_DIGITS: Final = 100
_MINUTE: Final = 60
_HOUR: Final = 3600


@lru_cache(maxsize=4096)  # a site repeats the same sizes
def size(number: float) -> str:
    """Format bytes as ``12.3 MB``, in decimal units like installers."""
    for unit in ("bytes", "kB", "MB"):
        if round(number) == 1 and unit == "bytes":
            return "1 byte"
        if round(number) < _KILO:
            return f"{number:.{0 if number >= _THREE_DIGITS or unit == 'bytes' else 1}f} {unit}"
        number /= _KILO
    return f"{number:,.1f} GB"


def duration(seconds: float) -> str:
    """Format seconds as ``45 s``, ``17 min`` or ``2.5 h``."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:,.1f} h"


def number_of(number: int, noun: str) -> str:
    """Format a count as ``1 wheel`` or ``2,000 wheels``; the noun's plural takes an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Time in seconds since the epoch, and sleeping; tests have a clock of their own."""

    now: Callable[[], float]
    sleep: Callable[[float], None]

    def utc(self) -> datetime:
        """Time in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)


SYSTEM_CLOCK: Final = Clock(now=time.time, sleep=time.sleep)
"""This machine's clock. Only commands pass it on, or results would depend on the day."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeIsOver after `seconds` and end programs: the host of an overlong job would end it with its work."""
    if seconds is None:
        yield
        return
    if seconds <= 0:  # setitimer would switch the timer off
        raise TimeIsOver
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise TimeIsOver
