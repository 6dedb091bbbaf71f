"""Requests to servers that nobody vouches for: credentials stay with their server, busy servers are asked again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self
from urllib.parse import urljoin

import httpx

from wheelmill.errors import UsageError, WheelmillError
from wheelmill.web.credentials import authorization_for, origin_of, without_credentials
from wheelmill.web.tries import NoAnswerError, answer_to

_REDIRECTS: Final = 10
_TIMEOUT: Final = httpx.Timeout(30, connect=10)
PARALLEL: Final = 16


class WebError(WheelmillError):
    """A server did not give what was asked for."""


class Web:
    """A connection to any number of servers. A context manager."""

    def __init__(self) -> None:
        """Take the proxy and the certificates that the environment names.

        Raises:
            UsageError: they cannot be used.
        """
        limits = httpx.Limits(max_connections=PARALLEL)
        try:
            self._client = httpx.Client(timeout=_TIMEOUT, limits=limits, headers={"User-Agent": "wheelmill"})
        except (ImportError, ValueError, OSError) as error:
            raise UsageError(
                f"the proxy or the certificates of this machine cannot be used: {error}",
                hint="look at HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
            ) from None

    def __enter__(self) -> Self:
        """Give the connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._client.close()

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Ask for a whole document, following redirects.

        Raises:
            WebError: no answer, or redirects that lead nowhere or to a server that could read what was encrypted.
        """
        with self.open(url, headers) as answer:
            try:
                answer.read()
            except httpx.HTTPError as error:
                raise WebError(f"{without_credentials(url)}: {error}") from None
            return answer

    @contextmanager
    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Ask for a document and read it while the context is open.

        A credential is sent to the server that the URL names, and not across a redirect to another one.

        Raises:
            WebError: as `get` does.
        """
        first, credential = without_credentials(url), authorization_for(url)
        at = first
        for _ in range(_REDIRECTS):
            sent = dict(headers or {})
            if credential and origin_of(at) == origin_of(first):
                sent["Authorization"] = credential
            answer = self._answer(self._client.build_request("GET", at, headers=sent))
            try:
                if not answer.has_redirect_location:
                    yield answer
                    return
            finally:
                answer.close()
            before, at = at, without_credentials(urljoin(at, answer.headers["Location"]))
            if origin_of(at)[0] not in ("https", origin_of(before)[0]):
                raise WebError(f"{first} leads from https to {at}")
        raise WebError(f"{first} leads through more than {_REDIRECTS} redirects")

    def _answer(self, request: httpx.Request) -> httpx.Response:
        try:
            return answer_to(self._client, request, time.sleep, stream=True)
        except NoAnswerError as error:
            raise WebError(str(error)) from None
