"""What every test can use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page_server import PageServer, page_server
from tests.sigstore_instance import Sigstore
from wheelmill.web import credentials
from wheelmill.wheel.attestation import TRUSTED_ROOT

pytest_plugins = ["tests.skips", "tests.flaky"]


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


@pytest.fixture
def sigstore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sigstore:
    """The instance that is trusted."""
    instance = Sigstore()
    monkeypatch.setenv(TRUSTED_ROOT, str(instance.write_trusted_root(tmp_path / "trusted_root.json")))
    return instance
