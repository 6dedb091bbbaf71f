"""Asking many servers side by side, so that an interruption need not wait for one that is silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
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
