"""What every test can use."""

from collections.abc import Iterator

import pytest

from tests.page_server import PageServer, page_server
from wheelmill.web import credentials


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="also run what compiles, downloads and installs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--real"):
        skip = pytest.mark.skip(reason="compiles, downloads or installs for real: run scripts/test --real")
        for item in items:
            if item.get_closest_marker("real"):  # keywords have the names of folders, too
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gave is not known to the next."""
    monkeypatch.setattr(credentials, "_given", {})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is tried again at once; tests of the pauses between tries look at their own."""
    monkeypatch.setattr("wheelmill.web.client._RETRIES._sleep", lambda _seconds: None)


@pytest.fixture
def server() -> Iterator[PageServer]:
    with page_server() as served:
        yield served


@pytest.fixture
def other_server() -> Iterator[PageServer]:
    with page_server() as served:
        yield served
