"""Progress of long work: what a person is shown, numbers as people read them, waiting, and stopping in time."""

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
_SHOWN_EACH: Final = 25
"""To show every page of a site would take as long as to make it."""


class Progress:
    """Is told what happens, and shows nothing."""

    def step(self, text: str) -> None:
        """Something worth a line of its own began or ended."""

    def line(self, text: str) -> None:
        """The last line of a running program, or what the command waits for; empty when that is over."""

    def count(self, items: Iterable[Item], words: str) -> Iterator[Item]:
        """Pass items on, and show now and then how many there were."""
        for number, item in enumerate(items, start=1):
            if number % _SHOWN_EACH == 0:
                self.line(f"{number:,} {words}")
            yield item

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """So many bytes of a download have come, of so many if that is known; called from several threads."""


QUIET: Final = Progress()
"""For callers that have nobody to tell."""


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


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The time in seconds since the epoch, and waiting; tests have a clock of their own."""

    now: Callable[[], float]
    sleep: Callable[[float], None]

    def utc(self) -> datetime:
        """The time in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)


SYSTEM_CLOCK: Final = Clock(now=time.time, sleep=time.sleep)
"""This machine's. Commands give it; nothing takes it by itself, or results would depend on the day."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Stop what runs in the context when its time is over; programs that it started end with it.

    A host ends a job that takes too long without asking, and what it had done is lost.

    Args:
        seconds: the seconds until the limit; None sets none.

    Raises:
        TimeIsOver: the time was not enough.
    """
    if seconds is None:
        yield
        return
    if seconds <= 0:  # which would switch the timer off
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
