"""Properties draw the same examples in each run, and ``--nightly`` ten times as many at random.

None of them is about time: the machine may be busy.
"""

import pytest
from hypothesis import HealthCheck, settings


def pytest_configure(config: pytest.Config) -> None:
    patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    settings.register_profile("repeatable", patient, derandomize=True, max_examples=20)
    settings.register_profile("nightly", patient, derandomize=False, max_examples=200, print_blob=True)
    settings.load_profile("nightly" if config.getoption("--nightly") else "repeatable")
