"""PyGithub, set up to leave waiting and trying again to those who know what they ask for."""

from __future__ import annotations

from typing import Any, Final

from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from wheelmill.release.github.repository import Repository

_TIMEOUT: Final = 120
"""Seconds without a byte from the other side."""


def connect(repository: Repository) -> Github:
    """Make a client that asks once, and at once; nothing is asked yet."""
    Requester.injectConnectionClasses(_Http, _Https)
    return Github(
        base_url=repository.api_url,
        auth=Auth.Token(repository.token) if repository.token else None,
        per_page=100,
        retry=0,
        timeout=_TIMEOUT,
        seconds_between_requests=0,
        seconds_between_writes=0,
        lazy=True,
    )


class _Https(HTTPSRequestsConnectionClass):
    """Waits for a limited time also for the host that takes uploads, which PyGithub would wait for without end."""

    def __init__(self, host: str, port: int | None = None, **settings: Any) -> None:  # noqa: ANN401 - passed on
        super().__init__(host, port, **{**settings, "timeout": settings.get("timeout") or _TIMEOUT})


class _Http(HTTPRequestsConnectionClass):
    """The same for a server without TLS."""

    def __init__(self, host: str, port: int | None = None, **settings: Any) -> None:  # noqa: ANN401 - passed on
        super().__init__(host, port, **{**settings, "timeout": settings.get("timeout") or _TIMEOUT})
