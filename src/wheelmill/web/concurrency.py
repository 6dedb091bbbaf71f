"""Parallel requests to many servers; an interruption does not wait for a silent one."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_WAIT_S: Final = 0.5
"""Longest wait at once: a signal that comes just before CPython waits for a lock is handled after that wait."""


class _Begun(Future[Result]):
    """Future of begun work; waiting for its result can be interrupted at any time."""

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result, or raise what the work raised."""
        while timeout is None and not self.done():
            wait([self], timeout=_WAIT_S)
        return super().result(timeout)


def begin(work: Callable[[Item], Result], items: Sequence[Item], *, threads: int) -> list[Future[Result]]:
    """Begin work on items in daemon threads, which the end of the process abandons, and return the futures in order."""
    futures: list[Future[Result]] = [_Begun() for _ in items]
    waiting = deque(zip(items, futures, strict=True))

    def run() -> None:
        with suppress(IndexError):  # none is waiting
            while True:
                item, future = waiting.popleft()
                try:
                    future.set_result(work(item))
                except Exception as error:  # noqa: BLE001 - any: result() raises it, and would wait for ever without it
                    future.set_exception(error)

    for _ in range(min(threads, len(items))):
        Thread(target=run, daemon=True).start()
    return futures


def completed(futures: Iterable[Future[Result]], *, seconds: float = math.inf) -> Iterator[Future[Result]]:
    """Yield futures as they complete within some seconds, and keep no result of those already yielded."""
    until = time.monotonic() + seconds
    left, over = set(futures), False
    while left and not over:
        pause = until - time.monotonic()
        over = pause <= 0
        done, left = wait(left, timeout=max(0.0, min(pause, _WAIT_S)), return_when=FIRST_COMPLETED)
        while done:
            yield done.pop()


def in_turn(work: Callable[[Item], Result], items: Iterable[Item], *, at_once: int) -> Iterator[Result]:
    """Yield the results of items in their order; at most `at_once` are begun, or done and not taken yet."""
    rest = iter(items)
    begun = deque(begin(work, list(islice(rest, at_once)), threads=at_once))
    while begun:
        result = begun.popleft().result()
        begun.extend(begin(work, list(islice(rest, 1)), threads=1))
        yield result
