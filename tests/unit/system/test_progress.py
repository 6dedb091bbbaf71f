"""Sizes, times and counts as people read them, and stopping in time."""

import ast
import re
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.unit.system.test_process import has_ended
from wheelmill.errors import TimeIsOver
from wheelmill.system import process
from wheelmill.system.progress import duration, number_of, size, time_limit

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0 bytes"), (1, "1 byte"), (1.4, "1 byte"), (2, "2 bytes"), (999, "999 bytes"), (1000, "1.0 kB")),
        *((999_960, "1.0 MB"), (999_400_000, "999 MB"), (12_345_678, "12.3 MB")),
        *((2.5e9, "2.5 GB"), (1.2345e12, "1,234.5 GB")),
    ],
)
def test_sizes(number: float, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "120 min"), (9000, "2.5 h"), (4.5e6, "1,250.0 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 wheels"), (1, "1 wheel"), (2, "2 wheels"), (12_345, "12,345 wheels")]
)
def test_counts(number: int, text: str) -> None:
    assert number_of(number, "wheel") == text


def test_no_text_has_a_count_before_a_noun_that_is_always_in_the_plural() -> None:
    texts = {path: path.read_text() for files in ("src/**/*.py", "index/**/*.html") for path in ROOT.glob(files)}
    nouns = {noun for text in texts.values() for noun in re.findall(r"number_of\(.*?[\"']([a-z ]+)[\"']\)", text)}
    assert {"wheel", "package"} < nouns
    verbs = {"build", "list"}  # of whatever is filled in before them
    counted = f" ({'|'.join(nouns - verbs)})s\\b"
    plural = re.compile(rf"{counted}(?!.* more than )")  # a limit is never 1
    maybe = re.compile(rf"\}}[\s\"'f]*{counted}")  # few texts have it, and all would take a second to parse
    assert [
        (path, value, after)
        for path, text in texts.items()
        if maybe.search(text)
        for value, after in (_filled_in_code if path.suffix == ".py" else _filled_in_page)(text)
        if plural.match(after) and not value.isupper()
    ] == []


def _filled_in_code(source: str) -> Iterator[tuple[str, str]]:
    """What is filled into texts, and what follows it."""
    for text in ast.walk(ast.parse(source)):
        for value, after in pairwise(text.values) if isinstance(text, ast.JoinedStr) else ():
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                yield ast.unparse(value.value), str(after.value)


def _filled_in_page(template: str) -> Iterator[tuple[str, str]]:
    yield from re.findall(r"\{\{ ([^}]*\b(?:length|count|thousands)\b[^}]*) \}\}(.*)", template)


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
