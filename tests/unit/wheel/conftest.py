"""What tests of hostile bytes use."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def an_end() -> Iterator[None]:
    """Fails a test that would go on for ever."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not come to an end"))
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
