"""A connection to a repository on a GitHub server: PyGithub's requests go through `web.client`."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, BinaryIO, Final, Self
from urllib.parse import quote, urlsplit

from github.Auth import Token
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from wheelmill.errors import NetworkError, UsageError
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials
from wheelmill.web.transport import FAILED, PATIENT, Retries

_NAME_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "-_.")


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository whose releases hold wheels."""

    full_name: str
    """``OWNER/REPO``."""
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    token: str | None = field(default=None, repr=False)
    """Needed to publish; published releases can be read without one."""

    @classmethod
    def parse(cls, full_name: str, environment: Mapping[str, str]) -> Self:
        """Read a name, and the rest from the variables that GitHub sets in its jobs.

        https://docs.github.com/en/actions/reference/workflows-and-actions/variables

        Raises:
            UsageError: it is no repository's name.
        """
        owner, _, name = full_name.partition("/")
        if {owner, name} & {"", ".", ".."} or not set(owner + name) <= _NAME_CHARACTERS:
            raise UsageError("repository-invalid", f"expected OWNER/REPO, not {full_name!r}")
        return cls(
            full_name=full_name,
            api_url=environment.get("GITHUB_API_URL") or cls.api_url,
            server_url=environment.get("GITHUB_SERVER_URL") or cls.server_url,
            token=environment.get("GITHUB_TOKEN") or None,
        )

    @property
    def downloads(self) -> str:
        """The public URL above the folders of tags."""
        return f"{self.server_url.rstrip('/')}/{self.full_name}/releases/download"

    def download(self, tag: str, filename: str) -> str:
        """The public URL of a file of a published release."""
        return f"{self.downloads}/{quote(tag)}/{quote(filename)}"


_PER_PAGE: Final = 100
_WITH_JSON: Final = (HTTPStatus.OK, HTTPStatus.CREATED)
"""Statuses of successful answers, which must come from GitHub itself and not from a proxy."""
_SHOWN: Final = 60
"""Characters of such a page."""


class WebRequester(Requester):
    """Sends requests without PyGithub's own retries and pauses; `Web` repeats safe ones that the server failed.

    PyGithub lets `requestJson` ask for everything but uploads. Its own connections, which it still makes for other
    hosts, are not used.
    """

    def __init__(self, repository: Repository, sleep: Callable[[float], None]) -> None:
        super().__init__(
            auth=Token(repository.token) if repository.token else None,
            base_url=repository.api_url,
            timeout=0,
            user_agent="wheelmill",
            per_page=_PER_PAGE,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
        )
        self._web = Web(
            credentials=no_credentials,  # PyGithub knows the token and where it may be sent
            retries=Retries(sleep, pauses=PATIENT, statuses=FAILED),
        )
        self.quota_left: int | None = None
        """Calls that are left, according to the last answer."""
        self.quota_resets = 0
        """When the limit is reset, in seconds since the epoch."""

    def requestJson(  # noqa: N802, PLR0917 - named by PyGithub
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        input: Any | None = None,  # noqa: A002, ANN401 - the same
        cnx: HTTPRequestsConnectionClass | HTTPSRequestsConnectionClass | None = None,  # noqa: ARG002 - the same
        follow_302_redirect: bool = False,  # noqa: ARG002, FBT001, FBT002 - the same
    ) -> tuple[int, dict[str, Any], str]:
        """Ask for something, or change it.

        Raises:
            NetworkError: GitHub does not answer.
        """
        body = b"" if input is None else json.dumps(input).encode()
        return self._send(verb, url, parameters, {"Content-Type": "application/json"} | (headers or {}), body)

    def requestMemoryBlobAndCheck(  # noqa: N802, PLR0917 - named by PyGithub
        self,
        verb: str,
        url: str,
        parameters: Any,  # noqa: ANN401 - the same
        headers: dict[str, Any],
        file_like: BinaryIO,
        cnx: HTTPRequestsConnectionClass | HTTPSRequestsConnectionClass | None = None,  # noqa: ARG002 - the same
    ) -> tuple[dict[str, Any], Any]:
        """Send a file.

        Raises:
            NetworkError: GitHub does not answer.
        """
        status, answered, text = self._send(
            verb, url, parameters, headers, file_like, size=int(headers["Content-Length"])
        )
        data = json.loads(text)
        if status >= HTTPStatus.BAD_REQUEST:
            raise self.createException(status, answered, data)
        return answered, data

    def _send(
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None,
        headers: dict[str, Any],
        body: bytes | BinaryIO,
        *,
        size: int = 0,
    ) -> tuple[int, dict[str, Any], str]:
        if self.auth:
            self.auth.authentication(headers)
        place = f"{self.base_url.rstrip('/')}{url}" if url.startswith("/") else url
        self._refuse_stranger(place)
        place = self.add_parameters_to_url(place, parameters or {})
        answer = self._web.send(verb, place, headers, body=body, size=size, refusals=True)
        received = {name.lower(): value for name, value in answer.headers.items()}
        if (left := received.get("x-ratelimit-remaining", "")).isdecimal():
            self.quota_left = int(left)
            self.quota_resets = int(reset) if (reset := received.get("x-ratelimit-reset", "")).isdecimal() else 0
        text = answer.content.decode(errors="replace")
        if answer.status in _WITH_JSON and not text.lstrip().startswith(("{", "[")):
            said = repr(text.strip()[:_SHOWN]) if text.strip() else "nothing"
            raise NetworkError(
                "github-unreadable", f"{place} answers {answer.status} with {said} instead of JSON; try again later"
            )
        return answer.status, received, text

    def close(self) -> None:
        """Close all connections."""
        self._web.close()

    def _refuse_stranger(self, url: str) -> None:
        """Send the token to the server of the API, and to those beside it such as ``uploads.github.com``."""
        host = urlsplit(url).hostname or ""
        if host != self.hostname and not host.endswith(f".{self.hostname.removeprefix('api.')}"):
            raise NetworkError("redirect-refused", f"{self.hostname} leads to {host}, which is another server")
