"""Whatever a stranger sends is read, or refused with an error of ours, within little memory and time."""

import pytest

from tests.fuzz.harness import FORMATS, MAX_MEMORY, MAX_SECONDS, fuzz


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_inputs_are_read_or_refused(name: str, request: pytest.FixtureRequest) -> None:
    found = fuzz(name, seconds=5 if request.config.getoption("--real") else 0)
    print(found)

    assert found.inputs > found.refused > 0
    assert found.slowest < MAX_SECONDS
    assert found.peak < MAX_MEMORY >> 20
