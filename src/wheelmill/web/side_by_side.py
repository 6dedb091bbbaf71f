"""Asking many servers side by side, so that an interruption need not wait for one that is silent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def begin(work: Callable[[Item], Result], items: Sequence[Item], *, threads: int) -> list[Future[Result]]:
    """Begin work on items, and go on at once.

    The process ends without waiting for these threads; for those of ThreadPoolExecutor it always waits. So what they
    do must leave nothing half done.

    Returns:
        What becomes of each item, in their order.
    """
    waiting: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()
    futures = []
    for item in items:
        futures.append(Future[Result]())
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
