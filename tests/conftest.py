"""What every test can use."""

from collections.abc import Iterator

import pytest

from tests.page_server import PageServer, page_server
from wheelmill.web import credentials


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="also run what compiles, downloads and installs")
    parser.addoption("--nightly", action="store_true", help="also run what is sampled otherwise, all of it")


LONGER = {
    "real": "compiles, downloads or installs for real: run scripts/test --real",
    "nightly": "all of what is sampled otherwise: run scripts/test --nightly",
}
"""Markers of tests that run only when an option of that name is given, and why they are skipped."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker, reason in LONGER.items():
        if not config.getoption(f"--{marker}"):
            for item in items:
                if item.get_closest_marker(marker):  # keywords have the names of folders, too
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gave is not known to the next."""
    monkeypatch.setattr(credentials, "_given", {})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is tried again at once; tests of the pauses between tries look at their own."""
    monkeypatch.setattr("wheelmill.web.client.ATTENDED._sleep", lambda _seconds: None)


@pytest.fixture
def server() -> Iterator[PageServer]:
    with page_server() as served:
        yield served


@pytest.fixture
def other_server() -> Iterator[PageServer]:
    with page_server() as served:
        yield served
