"""Which cause of a failure a text names."""

import pytest

from wheelmill.system.causes import MAX_SEARCHED, Cause, any_of, find_cause

CAUSES = (
    Cause(code="first", pattern="no (?P<what>disk|room)", hint="{owner} needs more {what}"),
    Cause(code="second", pattern=any_of(("killed", "c++: dead")), hint="{owner} was killed"),
)


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        ("NO DISK, and it was killed", "demo needs more DISK"),
        ("c++: dead", "demo was killed"),
        ("skilled killed_worker", None),
        ("no room" + " " * MAX_SEARCHED, None),
        ("", None),
    ],
)
def test_the_first_cause_in_the_end_of_a_text_counts(printed: str, hint: str | None) -> None:
    cause = find_cause(printed, CAUSES, owner="demo")
    assert (cause.hint if cause else None) == hint
