"""Asking servers that nobody vouches for: bounded in rate, connections, bytes and time.

Redirects are followed as installers do. Credentials of the index's URL go to its own origin and nowhere else.
"""

from __future__ import annotations

import base64
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import httpx

from wheelmill.conformance.folder import ORIGIN, FolderTransport
from wheelmill.conformance.pages import Document
from wheelmill.web.tries import NoAnswerError, Sleep, answer_to

MAX_PAGE: Final = 128 << 20
"""Bytes of a page. The largest project lists have half a million entries in 40 MB."""
MAX_PART: Final = 8 << 20
"""Bytes of METADATA or of a provenance object."""

_MAX_REDIRECTS: Final = 10
_SILENCE: Final = 30.0
"""Seconds without a byte."""
_SECONDS: Final = 120.0
"""For an answer that is kept in memory."""
_BYTES_PER_SECOND: Final = 64 << 10
"""What a download has to keep up, on the whole."""


@dataclass(frozen=True, kw_only=True)
class Politeness:
    """How much is asked of servers."""

    connections: int = 8
    rate: float = 20.0
    """Requests in a second, redirects too."""


class Fetcher:
    """A client for one index; a context manager that keeps connections open. Threads may share it.

    Args:
        url: of the index; it may hold a user and a password.
        folder: what is served at `ORIGIN`; nothing outside it is read.
        politeness: how much is asked.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        folder: Path | None = None,
        politeness: Politeness = Politeness(),
        sleep: Sleep = time.sleep,
    ) -> None:
        own = httpx.URL(url)
        self._origin = _origin(own)
        self._credentials = base64.b64encode(f"{own.username}:{own.password}".encode()).decode() if own.userinfo else ""
        self._sleep = sleep
        self._interval = 1 / politeness.rate
        self._next = 0.0
        self._lock = threading.Lock()
        self._client = httpx.Client(
            follow_redirects=True,
            max_redirects=_MAX_REDIRECTS,
            timeout=_SILENCE,
            limits=httpx.Limits(max_connections=politeness.connections),
            headers={"User-Agent": "wheelmill-index-check"},
            event_hooks={"request": [self._wait_for_turn]},
            mounts={f"all://{httpx.URL(ORIGIN).host}": FolderTransport(folder)} if folder else {},
        )

    def __enter__(self) -> Self:
        """Keep connections open until the context is left."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        self._client.close()

    def get(
        self, url: str, *, accept: str = "*/*", limit: int = MAX_PART, span: tuple[int, int] | None = None
    ) -> Document:
        """Ask for the whole of something, or for a span of its bytes: the first and the last one.

        Returns:
            What came; where nothing did, or more than the limit, it has a problem.
        """
        headers = {"Accept": accept} | ({"Range": f"bytes={span[0]}-{span[1]}"} if span else {})
        return self._read(url, headers, limit=limit)

    def first_byte(self, url: str) -> Document:
        """Ask whether a file is there and how large it is, as GET: some stores refuse HEAD. Nothing is kept."""
        return self._read(url, {"Range": "bytes=0-0", "Accept-Encoding": "identity"}, limit=None)

    def download(self, url: str, file: IO[bytes], size: int) -> Document:
        """Write a file's bytes into one on disk, up to the size that was told."""
        return self._read(url, {"Accept-Encoding": "identity"}, limit=size, into=file)

    def _read(self, url: str, headers: dict[str, str], *, limit: int | None, into: IO[bytes] | None = None) -> Document:
        shown = url
        try:
            address = httpx.URL(url)
            shown = _without_credentials(address)
            if address.scheme not in ("http", "https"):
                raise httpx.UnsupportedProtocol("is no http or https URL")
            with closing(self._send(address, headers)) as answer:
                content, problem = (b"", "") if limit is None else _body(answer, limit, into)
                return Document(
                    url=shown,
                    final_url=_without_credentials(answer.url),
                    status=answer.status_code,
                    content_type=answer.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
                    content=content,
                    size=_whole_size(answer),
                    problem=problem,
                )
        except (NoAnswerError, httpx.HTTPError, httpx.InvalidURL) as error:
            return Document(url=shown, final_url=shown, status=0, content_type="", content=b"", problem=str(error))

    def _send(self, address: httpx.URL, headers: dict[str, str]) -> httpx.Response:
        if self._credentials and _origin(address) == self._origin:
            # httpx drops this header on the way to another origin.
            headers = headers | {"Authorization": f"Basic {self._credentials}"}
        request = self._client.build_request("GET", _without_credentials(address), headers=headers)
        return answer_to(self._client, request, self._sleep, stream=True)

    def _wait_for_turn(self, _request: httpx.Request) -> None:
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)


def _body(answer: httpx.Response, limit: int, into: IO[bytes] | None) -> tuple[bytes, str]:
    """Read a body, into a file where one is given; what is wrong with it comes second."""
    kept, size = bytearray(), 0
    ends = time.monotonic() + _SECONDS + (limit / _BYTES_PER_SECOND if into else 0)
    for chunk in answer.iter_bytes():
        size += len(chunk)
        if size > limit:
            return b"", f"has more than {limit} bytes"
        if time.monotonic() > ends:
            return b"", "takes too long"
        if into:
            into.write(chunk)
        else:
            kept += chunk
    return bytes(kept), ""


def _whole_size(answer: httpx.Response) -> int | None:
    """The size of the file, of which a span may have come (RFC 9110, 14.4)."""
    partial = answer.status_code == httpx.codes.PARTIAL_CONTENT
    text = (
        answer.headers.get("Content-Range", "").rpartition("/")[2]
        if partial
        else answer.headers.get("Content-Length", "")
    )
    encoded = answer.headers.get("Content-Encoding", "identity") != "identity"
    try:
        return int(text) if text.isdigit() and not encoded else None
    except ValueError:  # thousands of digits
        return None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _without_credentials(url: httpx.URL) -> str:
    return str(url.copy_with(userinfo=b"") if url.userinfo else url)
