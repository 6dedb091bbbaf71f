"""Requests to many servers in parallel, so that an interruption does not wait for a silent one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_WAIT_S: Final = 0.5
"""Longest wait at once: a signal that comes just before CPython waits for a lock is handled after that wait."""


class _Begun(Future[Result]):
    """Work that was begun. Waiting for its result can be interrupted at any time."""

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result, or raise what the work raised."""
        while timeout is None and not self.done():
            wait([self], timeout=_WAIT_S)
        return super().result(timeout)


def begin(work: Callable[[Item], Result], items: Sequence[Item], *, threads: int) -> list[Future[Result]]:
    """Begin work on items, and go on at once.

    The process ends without waiting for these threads; for those of ThreadPoolExecutor it always waits. So what they
    do must leave nothing half done.

    Returns:
        What becomes of each item, in their order.
    """
    waiting: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()
    futures: list[Future[Result]] = []
    for item in items:
        futures.append(_Begun[Result]())
        waiting.put((item, futures[-1]))

    def run() -> None:
        while True:
            try:
                item, future = waiting.get_nowait()
            except Empty:
                return
            try:
                future.set_result(work(item))
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                future.set_exception(error)

    for _ in range(min(threads, len(items))):
        Thread(target=run, daemon=True).start()
    return futures


def completed(futures: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """Give work as it is done, whichever is first, and keep no result that was given."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=_WAIT_S, return_when=FIRST_COMPLETED)
        while done:
            yield done.pop()


def in_turn(work: Callable[[Item], Result], items: Iterable[Item], *, at_once: int) -> Iterator[Result]:
    """Give what becomes of items, in their order, while work on the next ones goes on.

    Args:
        work: what is done with each; what it raises is raised where its result is asked for.
        items: all of them.
        at_once: how many are begun, or done and not taken yet: no more results are in memory.
    """
    rest = iter(items)
    begun = deque(begin(work, list(islice(rest, at_once)), threads=at_once))
    while begun:
        result = begun.popleft().result()
        begun.extend(begin(work, list(islice(rest, 1)), threads=1))
        yield result
