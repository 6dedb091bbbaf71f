"""Time: waiting for it to pass, and stopping before it is over."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NoReturn

from wheelmill.errors import TimeIsOver


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
