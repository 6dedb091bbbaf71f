"""Work on many items in threads, whose results come in order and are never too many."""

from collections.abc import Iterator
from threading import Event

import pytest

from wheelmill.web.side_by_side import in_turn


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
