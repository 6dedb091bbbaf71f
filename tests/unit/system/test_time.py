"""Stopping in time."""

import signal
import time

import pytest

from tests.unit.system.test_process import has_ended
from wheelmill.errors import TimeIsOver
from wheelmill.system import process
from wheelmill.system.time import time_limit


def test_what_runs_is_stopped_and_the_programs_it_started_are_ended() -> None:
    started: list[int] = []
    with pytest.raises(TimeIsOver), time_limit(0.3):
        process.run(["sh", "-c", "echo $$; exec sleep 600"], on_line=lambda line: started.append(int(line)))
    assert all(map(has_ended, started))


def test_what_is_done_in_time_is_left_alone() -> None:
    with time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_handling_failures_does_not_hide_that_the_time_is_over() -> None:
    def somebodys_code() -> None:
        try:
            time.sleep(60)
        except Exception:  # noqa: BLE001 - code like this is what the test is about
            pytest.fail("it was taken for a failure")

    with pytest.raises(TimeIsOver), time_limit(0.1):
        somebodys_code()


def test_without_any_time_nothing_begins() -> None:
    with pytest.raises(TimeIsOver), time_limit(0):
        pytest.fail("it began")


def test_no_limit_is_none() -> None:
    with time_limit(None):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
