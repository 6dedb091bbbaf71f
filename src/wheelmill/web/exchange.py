"""A request and its answer, within limits of bytes and of time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

import httpx

from wheelmill.errors import NetworkError, SlowServerError
from wheelmill.web.github_pages import smaller_page
from wheelmill.web.retries import FAILED

Send = Callable[[httpx.Request], httpx.Response]
"""Sends a request over a connection, and leaves the content of the answer to be read."""
Read = Callable[[Iterator[bytes], int], None]
"""Takes the content of an answer, in pieces, and its status."""

BYTES_PER_SECOND: Final = 64 << 10
"""The average rate that a download must keep up."""
PIECE: Final = 1 << 20
"""Bytes that are read from an answer or a file at once."""

_SILENCE: Final = 30
"""Seconds without a byte."""
_CONNECT: Final = 10.0
"""Seconds until there is a connection."""
_ENCODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
"""Encodings that expand a piece at most a thousandfold; nested ones would expand it further."""
_TOO_LONG: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})
"""What gateways answer for a server that took too long."""


class TimeLeft:
    """The time of a request, looked at whenever a socket is about to wait: `socket.settimeout` asks for `__index__`.

    Without it a server that sends a byte now and then could hold a request for as long as it likes.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self.url, self.seconds = url, seconds
        self.timeouts = {"connect": _CONNECT, "read": self, "write": self}
        self._began = time.monotonic()

    def __index__(self) -> int:
        """Seconds to wait for the next bytes."""
        left = self._began + self.seconds - time.monotonic()
        if left <= 0:
            raise SlowServerError("server-slow", f"{self.url}: took longer than {self.seconds:.0f} seconds")
        return min(_SILENCE, math.ceil(left))


class Exchange(httpx.BaseTransport):
    """A request and its whole answer; a connection that breaks while the answer is read counts as no answer."""

    def __init__(self, send: Send, read: Read, time_left: TimeLeft, limit: int) -> None:
        self._send, self._read, self._time_left, self._limit = send, read, time_left, limit
        self.tries = 0
        """How many tries were begun."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it, and read what comes; where that took the server too long, ask for a smaller page at once."""
        answer = self._send_once(request)
        while answer.status_code in _TOO_LONG and (smaller := smaller_page(str(answer.url))):
            asked = httpx.Request(request.method, smaller, headers=request.headers, extensions=request.extensions)
            answer = self._send_once(asked)
        return answer

    def _send_once(self, request: httpx.Request) -> httpx.Response:
        self.tries += 1
        answer = self._send(request)
        try:
            if not answer.has_redirect_location and answer.status_code not in FAILED:
                self._read(self._pieces(answer), answer.status_code)
        finally:
            answer.close()
        return answer

    def _pieces(self, answer: httpx.Response) -> Iterator[bytes]:
        if (encoding := answer.headers.get("Content-Encoding", "").strip().lower()) not in _ENCODINGS:
            raise NetworkError(
                "encoding-unasked", f"{self._time_left.url}: is compressed as {encoding!r}, which was not asked for"
            )
        size = came = 0
        for piece in answer.iter_bytes(PIECE):
            size += len(piece)
            if size > self._limit:
                raise NetworkError("answer-too-large", f"{self._time_left.url}: has more than {self._limit} bytes")
            self._time_left.seconds += (answer.num_bytes_downloaded - came) / BYTES_PER_SECOND  # as packed
            came = answer.num_bytes_downloaded
            yield piece
