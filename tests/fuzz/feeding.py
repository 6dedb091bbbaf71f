"""The process that feeds: ``python -m tests.fuzz.feeding SECONDS FIRST_ROUND INPUTS FORMAT...``.

It prints what it is at and, in its last line, a `Count` for each format, as JSON.
"""

import faulthandler
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.harness import MAX_MEMORY, MAX_SECONDS, Count, Format
from wheelmill.errors import WheelmillError


def feed(form: Format[Any], *, seconds: float, first: int, size: int) -> Count:
    """Feed rounds of inputs, until the time is over.

    hypothesis forgets between rounds what it drew, so that a round can be repeated by its number.
    """
    inputs = read = 0
    slowest = 0.0

    def feed_one(value: Any) -> None:
        nonlocal inputs, read, slowest
        inputs += 1
        begun = time.monotonic()
        faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)  # ends what does not come back from C, too
        try:
            with suppress(WheelmillError):
                form.read(value)
                read += 1
        finally:
            faulthandler.cancel_dump_traceback_later()
            slowest = max(slowest, time.monotonic() - begun)

    begun = time.monotonic()
    for number in count(first):
        print(f"round {number}", flush=True)
        feed_round(form, number, size, feed_one)
        if time.monotonic() >= begun + seconds:
            break
    return Count(
        inputs=inputs,
        refused=inputs - read,
        seconds=round(time.monotonic() - begun, 1),
        slowest=round(slowest, 2),
        peak=peak_memory(),
    )


def feed_round(form: Format[Any], number: int, size: int, feed_one: Callable[[Any], None]) -> None:
    """Feed one round; the smallest input that fails is shown with what it raises."""
    patient = settings(
        max_examples=size,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    patient(seed(number)(given(form.inputs)(feed_one)))()


def peak_memory() -> int:
    """Mebibytes that this process had at most: what getrusage says, the parent's count with it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) >> 10


if __name__ == "__main__":
    seconds, first, size, *names = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    counts = {}
    for name in names:
        print(name, flush=True)
        module = importlib.import_module(f"tests.fuzz.formats.{name.replace('-', '_')}")
        counts[name] = asdict(feed(module.FORMAT, seconds=float(seconds), first=int(first), size=int(size)))
    print(json.dumps(counts))
