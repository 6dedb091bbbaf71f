"""What tests of hostile bytes use."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def an_end() -> Iterator[None]:
    """Fails a test that takes ten seconds of this process, which would go on for ever; other processes do not count."""
    before = signal.signal(signal.SIGPROF, lambda *_: pytest.fail("it does not come to an end"))
    signal.setitimer(signal.ITIMER_PROF, 10)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
