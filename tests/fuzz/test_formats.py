"""Whatever a stranger sends is read, or refused with an error of ours, within little memory and time."""

import secrets

import pytest

from tests.fuzz.harness import FORMATS, MAX_MEMORY, Count, fuzz


def assert_sound(found: Count) -> None:
    assert found.inputs > found.refused > 0
    assert found.peak < MAX_MEMORY >> 20


def test_some_damaged_inputs_of_each_format_are_read_or_refused() -> None:
    counts = fuzz(*FORMATS, seconds=0, size=20)
    assert [*counts] == [*FORMATS]
    for found in counts.values():
        assert_sound(found)


@pytest.mark.nightly
@pytest.mark.parametrize("name", FORMATS)
def test_many_damaged_inputs_are_read_or_refused(name: str) -> None:
    """Each run feeds other ones; a failure shows the number of the round, for ``python -m tests.fuzz --first``."""
    assert_sound(fuzz(name, seconds=20, first=secrets.randbelow(1_000_000))[name])
