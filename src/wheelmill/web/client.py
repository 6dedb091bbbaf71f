"""HTTP client for all of wheelmill.

Every request has a limit of bytes and one of time, is retried where that may help, and sends credentials only to
their server. A request that fails raises a `NetworkError` that begins with the URL.
"""

from __future__ import annotations

import hashlib
import logging
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass, url2pathname

import httpx
from httpx_retries import RetryTransport

from wheelmill.errors import IntegrityError, NetworkError, UsageError
from wheelmill.names import Sha256
from wheelmill.web.credentials import Credentials, Origin, authorization_for, without_credentials
from wheelmill.web.transport import (
    BYTES_PER_SECOND,
    FAILED,
    PIECE,
    SAFE,
    Addresses,
    Exchange,
    Read,
    Retries,
    TimeLeft,
    is_untrusted,
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer to a request, after redirects."""

    url: str
    """URL of the page that answered, without credentials; relative links are relative to it."""
    status: int
    reason: str
    """``Not Found``."""
    headers: Mapping[str, str]
    """Their names are not case-sensitive."""
    following: str | None = None
    """URL of the next page of a list (RFC 8288)."""
    content: bytes = b""
    """Unpacked; empty if the request failed, or if the server ignored a requested span."""

    @property
    def ok(self) -> bool:
        """True if the request succeeded."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def outcome(self) -> str:
        """Status for messages: ``404 Not Found``."""
        return f"{self.status} {self.reason}".rstrip()

    @property
    def content_type(self) -> str:
        """Content type in lower case, without parameters; empty if the server sends none."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def size(self) -> int | None:
        """Bytes of the whole file, even for a partial answer (RFC 9110, 14.4); None if unknown."""
        whole = self.headers.get("Content-Length", "")
        if self.status == HTTPStatus.PARTIAL_CONTENT:
            whole = self.headers.get("Content-Range", "").rpartition("/")[2]
        encoded = self.headers.get("Content-Encoding", "identity") != "identity"
        try:
            return int(whole) if whole.isascii() and whole.isdigit() and not encoded else None
        except ValueError:  # thousands of digits
            return None


@dataclass(frozen=True, kw_only=True)
class Download:
    """Size and hash of the bytes written into a file."""

    size: int
    sha256: Sha256


PARALLEL: Final = 16
"""Requests that run side by side."""
MAX_CONTENT: Final = 128 << 20
"""Bytes of an answer that is kept in memory. The largest project lists have half a million entries in 40 MB."""
MAX_FILE: Final = 16 << 30
"""Bytes of a file whose size was not announced."""
SECONDS: Final = 240.0
"""For a request with all its redirects, tries and pauses; every `BYTES_PER_SECOND` bytes that arrive add a second."""

ATTENDED: Final = Retries(time.sleep)
"""Retries for a command whose user waits."""

_LOG: Final = logging.getLogger(__name__)
_REDIRECTS: Final = 10
_TRUST: Final = "SSL_CERT_FILE names a file of the authorities that are trusted"


def next_page(headers: Mapping[str, str]) -> str | None:
    """Return the URL of the next page that a Link header names (RFC 8288); None if there is none."""
    return httpx.Response(HTTPStatus.OK, headers=headers).links.get("next", {}).get("url")


class Web(ExitStack[None]):
    """Client for any number of servers, which threads may share; a context manager.

    `before` is called with the URL before each request, redirects and retries included; its exception stops the
    request. `mounts` are httpx's transports for some servers. `seconds` limits a request; see `SECONDS`. No redirect
    leads from a public server to an inner address; with `start`, nor do other requests than those for its own server,
    if that is public.
    """

    def __init__(
        self,
        *,
        retries: Retries,
        credentials: Credentials = authorization_for,
        connections: int = PARALLEL,
        agent: str = "wheelmill",
        before: Callable[[str], None] = lambda _url: None,
        mounts: Mapping[str, httpx.BaseTransport] | None = None,
        seconds: float = SECONDS,
        start: str | None = None,
    ) -> None:
        super().__init__()
        self._credentials = credentials
        self._start = start
        self._addresses = Addresses()
        self._seconds = seconds
        self._retries = retries
        try:
            client = httpx.Client(
                limits=httpx.Limits(max_connections=connections),
                headers={"User-Agent": agent, "Accept-Encoding": "gzip, deflate"},
                event_hooks={"request": [lambda request: before(str(request.url))], "response": [_log]},
                mounts=mounts,
                verify=_authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            )
        except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
            reason = "a URL that is none" if isinstance(error, httpx.InvalidURL) else error  # may quote a password
            raise UsageError(
                "proxy-unusable",
                f"the proxy or the certificates of this machine cannot be used: {reason}",
                hint="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
            ) from None
        self._client = self.enter_context(client)

    def get(
        self,
        url: str,
        *,
        method: str = "GET",
        accept: str = "*/*",
        authorization: str | None = None,
        etag: str | None = None,
        modified: str | None = None,
        span: str = "",
        if_range: str | None = None,
        limit: int = MAX_CONTENT,
    ) -> Answer:
        """Request a document, or with HEAD its headers alone.

        A user and a password in the URL go to its server only, and are in no message. `authorization` replaces the
        header from `credentials`. `limit` is the maximum of bytes, unpacked.

        `etag`, or the date `modified`, is that of the document as last seen; if it has not changed, the answer is 304
        (RFC 9110, section 13). `span` has the form of a Range header: ``0-99``, or ``-100`` for the last bytes. A
        server ignores it if the document has changed since `if_range`, an ETag or a date; such an answer is not read.
        Raises NetworkError if there is no answer, it exceeds a limit of size or time, or redirects lead nowhere.
        """
        headers = {"Accept": accept}
        headers |= {"If-None-Match": etag} if etag else {}
        headers |= {"If-Modified-Since": modified} if modified else {}
        headers |= {"Range": f"bytes={span}", "Accept-Encoding": "identity"} if span else {}
        headers |= {"If-Range": if_range} if if_range else {}
        headers |= {"Authorization": authorization} if authorization else {}
        return self.send(method, url, headers, limit=limit)

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        body: bytes | IO[bytes] = b"",
        size: int = 0,
        limit: int = MAX_CONTENT,
        refusals: bool = False,
    ) -> Answer:
        """Send a request as `get` does, and never twice if it changes something.

        A file as `body` is read while it is sent; its `size` in bytes extends the time limit. `refusals` reads the
        content of a refusal, too.
        """
        content = bytearray()

        def read(pieces: Iterator[bytes], status: int) -> None:
            content.clear()
            if (refusals or status < HTTPStatus.MULTIPLE_CHOICES) and (
                status == HTTPStatus.PARTIAL_CONTENT or "Range" not in headers
            ):
                for piece in pieces:
                    content.extend(piece)

        answer = self._ask(method, url, headers, read, limit=limit, body=body, size=size)
        return Answer(
            url=str(answer.url),
            status=answer.status_code,
            reason=answer.reason_phrase,
            headers=answer.headers,
            following=next_page(answer.headers),
            content=bytes(content),
        )

    def read(self, url: str, *, limit: int = MAX_CONTENT) -> bytes:
        """Read a document of at most `limit` bytes, unpacked; any other answer is a NetworkError."""
        answer = self.get(url, limit=limit)
        if answer.status != HTTPStatus.OK:  # 206 would be an unrequested part
            raise NetworkError("status", f"{without_credentials(url)}: {answer.outcome}", status=answer.status)
        return answer.content

    def download(
        self,
        url: str,
        file: IO[bytes],
        *,
        promised: int | None = None,
        limit: int = MAX_FILE,
        received: Callable[[int], None] = lambda _size: None,
    ) -> Download:
        """Write a document of at most `limit` bytes into a file; ``file:`` URLs are read from this disk.

        The file is open for writing; a retry empties it. `promised` is the announced size in bytes, None if unknown;
        more bytes are an IntegrityError. `received` is called with the number of bytes so far.
        """
        digest, size = hashlib.sha256(), 0

        def read(pieces: Iterator[bytes], status: int = HTTPStatus.OK) -> None:
            """Write the document; a retry overwrites the first try."""
            nonlocal digest, size
            if status != HTTPStatus.OK:
                return
            if size:
                file.seek(0)
                file.truncate()
            digest, size = hashlib.sha256(), 0
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                if promised is not None and size > promised:
                    raise IntegrityError(
                        "size-exceeded", f"{without_credentials(url)} has more than the promised {promised} bytes"
                    )
                file.write(piece)
                received(size)

        if urlsplit(url).scheme == "file":
            _read_local(url, read)
        else:
            answer = self._ask("GET", url, {"Accept-Encoding": "identity"}, read, limit=limit)
            if answer.status_code != HTTPStatus.OK:
                outcome = f"{answer.status_code} {answer.reason_phrase}"
                raise NetworkError("status", f"{without_credentials(url)}: {outcome}", status=answer.status_code)
        return Download(size=size, sha256=Sha256(digest.hexdigest()))

    def _ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        read: Read,
        *,
        limit: int,
        body: bytes | IO[bytes] = b"",
        size: int = 0,
    ) -> httpx.Response:
        """Follow redirects to the final answer, read anew for each try; another server gets no credential."""
        shown = without_credentials(url)
        time_left = TimeLeft(shown, self._seconds + size / BYTES_PER_SECOND)
        exchange = Exchange(partial(self._client.send, stream=True), read, time_left, limit)
        sent = {name: value for name, value in headers.items() if name != "Authorization"}
        at = shown
        try:
            credential = headers.get("Authorization") or self._credentials(url)
            leader = httpx.URL(self._start) if self._start else None
            for _ in range(_REDIRECTS + 1):
                own = {"Authorization": credential} if credential else {}
                request = self._client.build_request(method, at, headers={**sent, **own}, content=body)
                request.extensions["trace"] = self._addresses.guard(request.url, leader)
                exchange.tries = 0
                answer = RetryTransport(exchange, self._retries).handle_request(request)
                if answer.status_code in FAILED or self._retries.is_retryable_status_code(answer.status_code):
                    outcome = f"{answer.status_code} {answer.reason_phrase}"
                    raise _no_answer(shown, outcome, exchange.tries, status=answer.status_code)
                if not answer.has_redirect_location:
                    return answer
                leader = request.url
                before, at = at, without_credentials(urljoin(at, answer.headers["Location"]))
                if urlsplit(at).scheme not in ("https", urlsplit(before).scheme) or method not in SAFE:
                    raise NetworkError(
                        "redirect-refused", f"{shown} leads from {urlsplit(before).scheme} to {at.partition('?')[0]}"
                    )
                credential = credential if Origin.of(at) == Origin.of(before) else None
        except httpx.TransportError as error:
            raise _no_answer(shown, _reason_of(error, at), exchange.tries) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise NetworkError("url-invalid", f"{shown}: {error}") from None
        raise NetworkError("too-many-redirects", f"{shown} leads through more than {_REDIRECTS} redirects")


def _log(answer: httpx.Response) -> None:
    """Log the answer to a request, without its query, which may hold a signature."""
    asked = answer.request
    _LOG.debug("%s %s: %s %s", asked.method, str(asked.url).partition("?")[0], answer.status_code, answer.reason_phrase)


@cache
def _authorities(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Load the certificate authorities, once for each setting: that takes as long as many requests."""
    return httpx.create_ssl_context()


def _reason_of(error: httpx.TransportError, url: str) -> str:
    """Explain a missing answer, with the authorities or the proxy of this machine if they may cause it."""
    reason = str(error) or type(error).__name__
    if is_untrusted(error):
        return f"{reason}; {_TRUST}"
    parts, known = urlsplit(url), getproxies()
    proxy = known.get(parts.scheme) or known.get("all")
    if proxy is None or not isinstance(error, httpx.ConnectError | httpx.ProxyError) or proxy_bypass(parts.netloc):
        return reason
    return f"{reason} (via proxy {without_credentials(proxy if '://' in proxy else f'http://{proxy}')})"


def _no_answer(url: str, reason: str, tries: int, *, status: int | None = None) -> NetworkError:
    again = f"; tried {tries} times" if tries > 1 else ""
    return NetworkError("server-silent", f"{url} does not answer: {reason}{again}", status=status)


def _read_local(url: str, read: Callable[[Iterator[bytes]], None]) -> None:
    path = Path(url2pathname(urlsplit(url).path))
    try:
        file = path.open("rb")
    except OSError as error:
        raise NetworkError("file-unreadable", f"{path}: {error.strerror}") from None
    except ValueError:
        raise NetworkError("file-unreadable", f"{str(path)!r} is not the name of a file") from None
    with file:
        read(iter(lambda: file.read(PIECE), b""))
