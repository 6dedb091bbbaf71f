"""Work on many items in threads, whose results come in order and are never too many."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event, Timer

import pytest

from wheelmill.web.side_by_side import begin, completed, in_turn


def test_results_come_in_order() -> None:
    assert list(in_turn(str, range(100), at_once=8)) == [str(number) for number in range(100)]
    assert list(in_turn(str, [], at_once=8)) == []


def test_work_goes_on_while_a_result_is_used_and_no_further_than_that() -> None:
    taken: list[int] = []
    begun = [Event() for _ in range(10)]

    def items() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    results = in_turn(lambda number: begun[number].set(), items(), at_once=3)
    next(results)
    assert all(event.wait(10) for event in begun[:4])
    assert taken == [0, 1, 2, 3]


def test_what_work_raises_is_raised_in_its_place() -> None:
    results = in_turn(int, ["1", "x", "3"], at_once=2)
    assert next(results) == 1
    with pytest.raises(ValueError, match="x"):
        next(results)


def test_work_comes_as_it_is_done() -> None:
    slow = Event()
    futures = begin(lambda work: work(), [slow.wait, lambda: True], threads=2)
    done = completed(futures)
    assert next(done) is futures[1]
    slow.set()
    assert list(done) == [futures[0]]
    assert list(completed([])) == []


class SignalledError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize(
    "wait", [lambda future: future.result(), lambda future: next(completed([future]))], ids=["result", "completed"]
)
def test_a_signal_that_wakes_nobody_interrupts(wait: Callable[[Future[bool]], object]) -> None:
    """It is as if it came just before the wait began: another thread than the one that waits gets it."""

    def interrupt(*_: object) -> None:
        raise SignalledError

    asleep = Event()
    (future,) = begin(asleep.wait, [60], threads=1)  # inherits no blocked signal
    before = signal.signal(signal.SIGUSR1, interrupt)
    Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1]).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        with pytest.raises(SignalledError):
            wait(future)
        assert not future.done()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR1, before)
        asleep.set()
