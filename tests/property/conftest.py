"""No test of a property is about time: the machine may be busy. ``--real`` draws three times as many examples."""

import pytest
from hypothesis import HealthCheck, settings


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile(
        "patient",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=60 if config.getoption("--real") else 20,
    )
    settings.load_profile("patient")
