"""Properties draw the same examples in each run, and ``--nightly`` ten times as many at random.

None of them is about time: the machine may be busy.
"""

import pytest
from hypothesis import HealthCheck, settings

from tests.unit.conformance.conftest import call_here
from wheelmill.conformance import survey


def pytest_configure(config: pytest.Config) -> None:
    patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    settings.register_profile("repeatable", patient, derandomize=True, max_examples=20)
    settings.register_profile("nightly", patient, derandomize=False, max_examples=200, print_blob=True)
    settings.load_profile("nightly" if config.getoption("--nightly") else "repeatable")


@pytest.fixture(autouse=True)
def no_processes_apart(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Read pages in this process."""
    if not pytestconfig.getoption("--nightly"):
        monkeypatch.setattr(survey, "call_isolated", call_here)
        monkeypatch.setattr("wheelmill.system.isolated_call.call_isolated", call_here)
