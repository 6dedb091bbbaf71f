"""A server that takes a connection and says nothing is not waited for without end."""

import socket
from dataclasses import replace

import pytest

from tests.github_server import REPOSITORY
from wheelmill.errors import ReleaseError
from wheelmill.release.github import Repository, connection
from wheelmill.release.github.calls import Calls
from wheelmill.release.github.pace import Pace
from wheelmill.system.progress import QUIET


def test_silence_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_TIMEOUT", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        api_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        repository = replace(Repository.parse(REPOSITORY, {}), api_url=api_url)
        calls = Calls(repository, Pace(), QUIET)
        with pytest.raises(ReleaseError, match="timed out"):
            calls.write("asking", lambda: list(calls.repository.get_releases()))


def test_the_host_of_uploads_has_the_same_patience() -> None:
    """PyGithub makes its connection without a timeout."""
    repository = Repository.parse(REPOSITORY, {})
    requester = connection.connect(repository).requester
    uploads = requester._Requester__customConnection("https://uploads.github.com/repos")  # type: ignore[attr-defined]  # noqa: SLF001 - what is under test
    assert uploads.timeout == 120
