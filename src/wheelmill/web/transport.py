"""One request and its answer, within limits of bytes, time and addresses, and its retries.

No public server leads to an inner address, such as loopback, a company's network and a cloud's metadata. The address of
the connection counts, as a name may resolve to another one each time. A proxy resolves names itself; behind one, only
hosts that are addresses in some form can be refused.
https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
"""

from __future__ import annotations

import copy
import math
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import httpx
from httpx_retries import Retry

from wheelmill.errors import NetworkError, SlowServerError
from wheelmill.web.pages import smaller_page

Sleep = Callable[[float], None]
"""Waits for so many seconds."""

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""
FAILED: Final = frozenset(range(500, 600))
"""Statuses of a server that is at fault itself."""

PATIENT: Final = (1.0, 10.0, 60.0)
"""Seconds between tries after a server's failure, for jobs without a waiting user."""
BRIEF: Final = (1.0, 2.0)
"""The same, for a command whose user waits."""
_LONGEST_PAUSE: Final = 60.0
"""Seconds; if a server asks for a longer pause, there is no retry."""


class Retries(Retry):
    """Retry policy for requests that change nothing; `pauses` are in seconds, unless a server asks for more."""

    def __init__(
        self,
        sleep: Sleep,
        *,
        pauses: Sequence[float] = BRIEF,
        statuses: Collection[int] = FAILED | {HTTPStatus.TOO_MANY_REQUESTS},
    ) -> None:
        super().__init__(total=len(pauses), allowed_methods=SAFE, status_forcelist=statuses)
        self._sleep, self._pauses = sleep, pauses

    def increment(self) -> Retries:
        """Return a copy with one more try."""
        counted = copy.copy(self)
        counted.attempts_made += 1
        return counted

    def is_retryable_exception(self, exception: Exception) -> bool:
        """True if a retry may help; an untrusted certificate stays untrusted."""
        return super().is_retryable_exception(exception) and not is_untrusted(exception)

    def sleep(self, response: httpx.Response | Exception) -> None:
        """Wait before the next try, or raise NetworkError for a longer pause, which the library would shorten."""
        asked = 0.0
        if isinstance(response, httpx.Response) and (asked := asked_pause(response.headers)) > _LONGEST_PAUSE:
            outcome = f"{response.status_code} {response.reason_phrase}"
            raise NetworkError(
                "server-busy",
                f"{response.request.url} does not answer: {outcome}; try again in {asked:.0f} seconds",
                status=response.status_code,
            )
        self._sleep(max(asked, self._pauses[self.attempts_made - 1]))


def is_untrusted(exception: BaseException | None) -> bool:
    """True if the cause is a certificate that this machine does not trust."""
    while exception and not isinstance(exception, ssl.SSLCertVerificationError):
        exception = exception.__cause__ or exception.__context__
    return exception is not None


def asked_pause(headers: Mapping[str, str]) -> float:
    """Return the seconds that Retry-After asks for, as a number or a date; 0 if it asks for none."""
    try:
        return Retry().parse_retry_after(headers.get("retry-after", ""))
    except (ValueError, OverflowError):  # not a date, or one with a ten-digit year
        return 0.0


Send = Callable[[httpx.Request], httpx.Response]
"""Sends a request, and leaves the content of the answer to be read."""
Read = Callable[[Iterator[bytes], int], None]
"""Reads the content of an answer, in pieces; gets its status, too."""

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
"""Status of a gateway whose server took too long."""


class TimeLeft:
    """Remaining time of a request, which sockets ask (`__index__`) before each wait, as a server may trickle."""

    def __init__(self, url: str, seconds: float) -> None:
        self.url, self.seconds = url, seconds
        self._began = time.monotonic()

    @property
    def timeouts(self) -> dict[str, object]:
        """Timeouts of a try; that of its connection is a number, as `socket.create_connection` handles no error."""
        return {"connect": min(_CONNECT, self._left()), "read": self, "write": self}

    def __index__(self) -> int:
        """Return the seconds to wait for the next bytes."""
        return min(_SILENCE, math.ceil(self._left()))

    def _left(self) -> float:
        left = self._began + self.seconds - time.monotonic()
        if left <= 0:
            raise SlowServerError("server-slow", f"{self.url}: took longer than {self.seconds:.0f} seconds")
        return left


class Exchange(httpx.BaseTransport):
    """Transport of a request and its whole answer; a connection that breaks meanwhile counts as no answer."""

    def __init__(self, send: Send, read: Read, time_left: TimeLeft, limit: int) -> None:
        self._send, self._read, self._time_left, self._limit = send, read, time_left, limit
        self.tries = 0
        """Tries that were begun."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and read the answer; if that took the server too long, request a smaller page at once."""
        answer = self._send_once(request)
        while answer.status_code in _TOO_LONG and (smaller := smaller_page(str(answer.url))):
            asked = httpx.Request(request.method, smaller, headers=request.headers, extensions=request.extensions)
            answer = self._send_once(asked)
        return answer

    def _send_once(self, request: httpx.Request) -> httpx.Response:
        self.tries += 1
        request.extensions["timeout"] = self._time_left.timeouts
        answer = self._send(request)
        try:
            if not answer.has_redirect_location and answer.status_code not in FAILED:
                self._read(self._pieces(answer), answer.status_code)
        finally:
            answer.close()
        return answer

    def _pieces(self, answer: httpx.Response) -> Iterator[bytes]:
        if (encoding := answer.headers.get("Content-Encoding", "").strip().lower()) not in _ENCODINGS:
            raise NetworkError("encoding-unasked", f"{self._time_left.url}: unexpected Content-Encoding {encoding!r}")
        size = came = 0
        for piece in answer.iter_bytes(PIECE):
            size += len(piece)
            if size > self._limit:
                raise NetworkError("answer-too-large", f"{self._time_left.url}: has more than {self._limit} bytes")
            self._time_left.seconds += (answer.num_bytes_downloaded - came) / BYTES_PER_SECOND  # as packed
            came = answer.num_bytes_downloaded
            yield piece


_UNICAST: Final = IPv6Network("2000::/3")
"""https://www.iana.org/assignments/ipv6-address-space"""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""IPv4 addresses to clients that have only IPv6 (RFC 6052)."""


def is_global(text: str) -> bool:
    """True if an address is one of the public network, also where it holds an IPv4 address."""
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped or address in _TRANSLATED:
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        elif address.sixtofour:
            address = address.sixtofour
        elif address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _is_inner(host: str) -> bool:
    """True if a host is itself an inner address, in any form that resolvers read: ``0x7f.1``, ``2130706433``."""
    name = host.rstrip(".").lower()
    try:
        resolved = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return f".{name}".endswith(".localhost")
    return not all(is_global(str(address[0])) for *_, address in resolved)


class Addresses:
    """Addresses that the servers of a client were reached at; threads may share it."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, bool]] = set()
        """Hosts, and whether they were reached at a global address."""

    def guard(self, url: httpx.URL, leader: httpx.URL | None) -> Callable[[str, Mapping[str, Any]], None]:
        """Return a watch over the connection for a URL, or raise NetworkError if its host is known to be inner.

        `leader` is the page or redirect that leads there, None if the user does. If it is inner, it may lead anywhere.
        https://www.encode.io/httpcore/extensions/#trace
        """
        host, connecting = url.raw_host.decode(), ""  # as connections name it
        origin = leader.raw_host.decode() if leader else host
        is_public = (origin, True) in self._seen or not ((origin, False) in self._seen or _is_inner(origin))
        is_free = leader is None or not is_public or (origin == host and (host, True) not in self._seen)

        def refuse(name: str) -> NetworkError:
            message = f"{origin} leads to {name}, which is not an address of the public network"
            return NetworkError("address-inner", message, hint="name the URL of that server itself, if it is meant")

        def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal connecting
            if event == "connection.connect_tcp.started":
                connecting = info["host"]
            elif event == "connection.connect_tcp.complete" and connecting == host:  # else it is a proxy
                peer = info["return_value"].get_extra_info("server_addr")[0]
                self._seen.add((host, is_global(peer)))
                if not (is_free or is_global(peer)):
                    info["return_value"].close()
                    raise refuse(f"{host} at {peer}")

        if not is_free and (_is_inner(host) or (host, False) in self._seen):
            raise refuse(host)
        return trace
