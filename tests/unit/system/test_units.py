"""Sizes and times as people read them."""

import pytest

from wheelmill.system.units import duration, size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1.4, "1 byte"),
        (2, "2 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (999_400_000, "999 MB"),
        (12_345_678, "12.3 MB"),
        (2.5e9, "2.5 GB"),
        (1.2345e12, "1,234.5 GB"),
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
