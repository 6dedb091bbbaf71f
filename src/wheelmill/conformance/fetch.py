"""Requests to the servers of an index, at a polite rate; whatever goes wrong is part of the result."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, Final, Self

import httpx

from wheelmill.conformance.served import Document
from wheelmill.errors import IntegrityError, NetworkError, SlowServerError
from wheelmill.web.client import MAX_CONTENT, Web
from wheelmill.web.credentials import own_credentials, without_credentials
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE
from wheelmill.web.transport import Retries, Sleep

MAX_PART: Final = 8 << 20
"""Bytes of METADATA or of a provenance object."""
SECONDS: Final = 120.0
"""For one request, as `Web` counts them."""
MAX_LATE: Final = 8
"""Requests that may be too slow before no more are sent, so that a slow server cannot hold a check for hours."""
_ACCEPT_HTML: Final = ", ".join(HTML_TYPES)
_NOT_ACCEPTABLE: Final = 406


@dataclass(frozen=True, kw_only=True)
class Politeness:
    """How many requests servers get."""

    connections: int = 8
    rate: float = 20.0
    """Requests in a second, redirects too."""


class Fetcher:
    """A client for one index; a context manager that keeps connections open. Threads may share it.

    Args:
        url: of the index; it may hold a user and a password.
        mounts: transports that answer for some servers, as httpx takes them.
        politeness: how much is asked.
        sleep: waits for so many seconds.
        seconds: that a request may take.
    """

    def __init__(
        self,
        url: str,
        *,
        mounts: Mapping[str, httpx.BaseTransport] = MappingProxyType({}),
        politeness: Politeness = Politeness(),
        sleep: Sleep,
        seconds: float = SECONDS,
    ) -> None:
        self.politeness: Final = politeness
        self._sleep = sleep
        self._next = 0.0
        self._late = 0
        self._lock = threading.Lock()
        self.web: Final = Web(
            credentials=own_credentials(url),
            connections=politeness.connections,
            agent="wheelmill-index-check",
            before=self._wait_for_turn,
            mounts=mounts,
            retries=Retries(sleep),
            seconds=seconds,
        )

    def __enter__(self) -> Self:
        """Keep connections open until the context is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self.web.close()

    def get(self, url: str, *, accept: str = "*/*", limit: int = MAX_PART, span: str = "") -> Document:
        """Ask for a document.

        Args:
            url: the URL of the document.
            accept: the content types that are wanted.
            limit: bytes of the content.
            span: of its bytes, as a Range header has it.

        Returns:
            What came; where nothing did, or more than the limit, it has a problem.
        """
        shown = without_credentials(url)
        try:
            answer = self.web.get(url, accept=accept, limit=limit, span=span)
        except NetworkError as error:
            self._count(error)
            problem = str(error).removeprefix(shown).lstrip(": ")
            return Document(url=shown, final_url=shown, status=0, content_type="", content=b"", problem=problem)
        return Document(
            url=shown,
            final_url=answer.url,
            status=answer.status,
            content_type=answer.content_type,
            content=answer.content,
            size=answer.size,
        )

    def get_page(self, url: str) -> list[Document]:
        """Ask for a page in each form that the index has. It need not have both, nor choose by the request."""
        first = self.get(url, accept=JSON_TYPE, limit=MAX_CONTENT)
        if first.ok and first.content_type in HTML_TYPES:
            return [first]
        second = self.get(url, accept=_ACCEPT_HTML, limit=MAX_CONTENT)
        if (first.status, first.content_type) == (second.status, second.content_type):
            return [first]
        return [document for document in (first, second) if document.status != _NOT_ACCEPTABLE] or [first]

    def first_byte(self, url: str) -> Document:
        """Ask whether a file is there and how large it is, as GET: some stores refuse HEAD."""
        return self.get(url, span="0-0")

    def download(self, url: str, file: IO[bytes], size: int) -> bool:
        """Write a file's bytes into one on disk; returns whether they came, and no more of them than were told."""
        if not url.startswith(("http://", "https://")):
            return False
        try:
            self.web.download(url, file, promised=size)
        except (NetworkError, IntegrityError) as error:
            self._count(error)
            return False
        return True

    def _count(self, error: Exception) -> None:
        with self._lock:
            self._late += isinstance(error, SlowServerError)

    def _wait_for_turn(self, url: str) -> None:
        with self._lock:
            if self._late >= MAX_LATE:
                raise NetworkError(
                    "server-too-slow", f"{without_credentials(url)}: not requested, as {MAX_LATE} answers took too long"
                )
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 1 / self.politeness.rate
        if turn > now:
            self._sleep(turn - now)
