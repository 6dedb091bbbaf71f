"""Calls in a process apart."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from wheelmill.errors import UnreadableError
from wheelmill.system import apart
from wheelmill.system.apart import MAX_ANSWER, Limits, call_apart


def test_calls_are_answered_in_their_order_and_not_here() -> None:
    own, *squares = call_apart([os.getpid, *(partial(pow, number, 2) for number in range(20))], Limits())
    assert own != os.getpid()
    assert squares == [number**2 for number in range(20)]


def test_one_that_goes_beyond_a_limit_costs_itself_alone() -> None:
    calls: list[Callable[[], object]] = [
        partial(abs, 1),
        partial(pow, 3, 10**9),  # one step of the interpreter
        partial(abs, 2),
        partial(bytes, 1 << 30),
        partial(os.kill, 0, signal.SIGSEGV),
        partial(str.ljust, "x", MAX_ANSWER),
        partial(abs, 3),
    ]
    answers = list(call_apart(calls, Limits(seconds=1, memory=512 << 20)))
    assert [str(answer) for answer in answers] == [
        "1",
        "takes more than 1 s of CPU time",
        "2",
        "takes more than 512 MiB of memory",
        "crashes the process that reads it (SIGSEGV)",
        "has more than 64 MiB to say",
        "3",
    ]
    assert [isinstance(answer, UnreadableError) for answer in answers] == [False, True, False, True, True, True, False]


def test_the_seconds_of_one_are_not_those_of_the_next() -> None:
    busy = partial(sum, range(20_000_000))
    assert list(call_apart([busy] * 6, Limits(seconds=2))) == [sum(range(20_000_000))] * 6


def test_what_a_function_raises_is_a_bug() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(call_apart([partial(divmod, 1, 0)], Limits()))


def test_it_has_no_token_and_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    assert list(call_apart([partial(os.getenv, "GITHUB_TOKEN")], Limits())) == [None]


def test_large_calls_wait_on_the_disk_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_MAX_WAITING", 1000)
    made: list[int] = []

    def calls() -> Iterator[Callable[[], object]]:
        for number in range(4):
            made.append(number)
            yield partial(len, b"x" * 600)

    answers = call_apart(calls(), Limits())
    assert next(answers) == 600
    assert made == [0, 1]
    assert list(answers) == [600] * 3
