"""The time, and waiting for it to pass: tests have a clock of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Seconds since the epoch, and how to wait for more of them."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
