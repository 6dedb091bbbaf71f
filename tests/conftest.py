"""What every test can use."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page_server import PageServer, page_server
from wheelmill.web import credentials
from wheelmill.wheel.attestation import TRUSTED_ROOT

if TYPE_CHECKING:
    from tests.sigstore_instance import Sigstore

pytest_plugins = ["tests.skips", "tests.flaky"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while everything is imported, which stays for good: half of the time was spent on it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gave is not known to the next."""
    for name in ("_given", "_of_variables", "_variables"):
        monkeypatch.setattr(credentials, name, {})


@pytest.fixture(autouse=True)
def no_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tag that these tests run for is none of the packages in them."""
    monkeypatch.delenv("GITHUB_REF_TYPE", raising=False)


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
    from tests.sigstore_instance import Sigstore  # noqa: PLC0415 - the client's tests on Windows have no cryptography

    instance = Sigstore()
    monkeypatch.setenv(TRUSTED_ROOT, str(instance.write_trusted_root(tmp_path / "trusted_root.json")))
    return instance
