"""Calls in a process apart."""

import os
import pickle
import resource
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wheelmill.errors import UnreadableError
from wheelmill.system import isolated_call
from wheelmill.system.isolated_call import MAX_ANSWER, CallLimits, call_isolated


def test_calls_are_answered_in_their_order_under_limits_without_a_token_and_not_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    limits = [partial(resource.getrlimit, kind) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS)]
    calls: list[Callable[[], object]] = [os.getpid, partial(os.getenv, "GITHUB_TOKEN"), *limits]
    calls += [partial(pow, number, 2) for number in range(20)]
    answers: list[Any] = list(call_isolated(calls, CallLimits(seconds=2)))
    own, token, processor, memory, *squares = answers
    assert own != os.getpid()
    assert token is None
    assert 2 < processor[0] < 10  # what the interpreter took to start counts as well
    assert memory[0] == CallLimits().memory
    assert squares == [number**2 for number in range(20)]


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param(partial(os.kill, 0, signal.SIGXCPU), id="the kernel's signal"),
        pytest.param(partial(pow, 3, 10**9), id="one step of the interpreter", marks=pytest.mark.nightly),
    ],
)
def test_one_that_goes_beyond_a_limit_costs_itself_alone(busy: Callable[[], object]) -> None:
    calls: list[Callable[[], object]] = [
        partial(abs, 1),
        busy,
        partial(bytes, 1 << 30),
        partial(os.kill, 0, signal.SIGSEGV),
        partial(str.ljust, "x", MAX_ANSWER),
        partial(abs, 3),
    ]
    answers = list(call_isolated(calls, CallLimits(seconds=1, memory=512 << 20)))
    assert [str(answer) for answer in answers] == [
        *("1", "takes more than 1 s of CPU time", "takes more than 512 MiB of memory"),
        *("crashes the process that reads it (SIGSEGV)", "has more than 64 MiB to say", "3"),
    ]
    assert [isinstance(answer, UnreadableError) for answer in answers] == [False, True, True, True, True, False]


def test_the_seconds_of_one_are_not_those_of_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(isolated_call, "_limit", lambda *limit: limits.append(limit))
    monkeypatch.setattr(time, "process_time", iter([0.2, 3.7]).__next__)
    for name in ("1.call", "2.call"):
        (tmp_path / name).write_bytes(pickle.dumps(partial(abs, 1)))
    isolated_call.main(CallLimits(seconds=2, memory=512), tmp_path)
    assert [amount for kind, amount in limits if kind == resource.RLIMIT_CPU] == [1 + 2, 4 + 2]
    assert (resource.RLIMIT_AS, 512) in limits


@pytest.mark.nightly
def test_many_that_take_less_than_the_limit_take_more_than_it_together() -> None:
    busy = partial(sum, range(20_000_000))
    assert list(call_isolated([busy] * 6, CallLimits(seconds=2))) == [sum(range(20_000_000))] * 6


def test_what_a_function_raises_is_a_bug() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(call_isolated([partial(divmod, 1, 0)], CallLimits()))


def test_large_calls_wait_on_the_disk_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_call, "_MAX_WAITING", 1000)
    made: list[int] = []

    def calls() -> Iterator[Callable[[], object]]:
        for number in range(4):
            made.append(number)
            yield partial(len, b"x" * 600)

    answers = call_isolated(calls(), CallLimits())
    assert next(answers) == 600
    assert made == [0, 1]
    assert list(answers) == [600] * 3
