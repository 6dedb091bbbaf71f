"""Requests to an index, at a polite rate, or to a folder that answers as a static host would.

A failed request is part of the result. Observations are properties of the host that no rule demands, but that affect
the speed of installers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final
from urllib.parse import urlsplit

import httpx

from wheelmill.conformance.rule import Document, Observation
from wheelmill.errors import IntegrityError, NetworkError, SlowServerError
from wheelmill.web.client import MAX_CONTENT, Answer, Web
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


@dataclass(frozen=True, kw_only=True)
class Politeness:
    """Limits on requests to servers."""

    connections: int = 8
    rate: float = 20.0
    """Requests in a second, redirects too."""


class Fetcher(AbstractContextManager["Fetcher", None]):
    """Client for one index; a context manager that keeps connections open. Threads may share it.

    The URL may hold a user and a password; pages of a public one lead to no inner address. `mounts` are httpx
    transports by server; a request may take `seconds`.
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
            start=None if url == ORIGIN else url,  # a folder of this machine may lead anywhere
        )

    def __exit__(self, *_: object) -> None:
        """Close connections."""
        self.web.close()

    def get(self, url: str, *, accept: str = "*/*", limit: int = MAX_PART, span: str = "") -> Document:
        """Request a document or a `span` of it; one that fails, or has more than `limit` bytes, has a problem."""
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
        """Request a page in each form that the index has. It may have only one, and may ignore the Accept header."""
        first = self.get(url, accept=JSON_TYPE, limit=MAX_CONTENT)
        if first.ok and first.content_type in HTML_TYPES:
            return [first]
        second = self.get(url, accept=_ACCEPT_HTML, limit=MAX_CONTENT)
        if (first.status, first.content_type) == (second.status, second.content_type):
            return [first]
        return [document for document in (first, second) if document.status != HTTPStatus.NOT_ACCEPTABLE] or [first]

    def first_byte(self, url: str) -> Document:
        """Request the first byte of a file for its presence and size, by GET: some stores refuse HEAD."""
        return self.get(url, span="0-0")

    def download(self, url: str, file: IO[bytes], size: int) -> bool:
        """Write a file's bytes to disk; True if they came, and no more than announced."""
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
                message = f"{without_credentials(url)}: not requested, as {MAX_LATE} answers took too long"
                raise NetworkError("server-too-slow", message)
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 1 / self.politeness.rate
        if turn > now:
            self._sleep(turn - now)


ORIGIN: Final = "http://folder.invalid"
"""Stand-in for the host: no name under .invalid is ever given away (RFC 2606)."""

_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}
_CHUNK: Final = 1 << 20


class FolderTransport(httpx.BaseTransport):
    """Transport that answers for `ORIGIN` from the files of `root` alone; the simple API gets ``index.json``."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer with a file, with the page of a folder, or with 404."""
        try:
            return self._answer(request)
        except OSError:  # a name that is too long, or an unreadable file
            return httpx.Response(HTTPStatus.NOT_FOUND)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = self._root / request.url.path.lstrip("/")
        kind = ""
        if path.is_dir():
            if not request.url.path.endswith("/"):
                return httpx.Response(HTTPStatus.MOVED_PERMANENTLY, headers={"Location": f"{request.url.path}/"})
            as_json = request.headers["Accept"] == JSON_TYPE and (path / "index.json").is_file()
            path, kind = (path / "index.json", JSON_TYPE) if as_json else (path / "index.html", "")
        elif request.url.path.endswith("/"):
            return httpx.Response(HTTPStatus.NOT_FOUND)
        if not path.is_file() or not path.resolve().is_relative_to(self._root):
            return httpx.Response(HTTPStatus.NOT_FOUND)
        span = request.headers.get("Range", "")
        return _file(path, kind or _TYPES.get(path.suffix, "application/octet-stream"), span)


def _file(path: Path, kind: str, span: str) -> httpx.Response:
    """Answer with a file or a span of it. The request is our own, so its Range has one form."""
    size = path.stat().st_size
    if not span:
        headers = {"Content-Type": kind, "Content-Length": str(size)}
        return httpx.Response(HTTPStatus.OK, headers=headers, content=_chunks(path.open("rb")))
    first, last = map(int, span.removeprefix("bytes=").split("-"))
    if first >= size:
        return httpx.Response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
    with path.open("rb") as file:
        file.seek(first)
        content = file.read(last - first + 1)
    headers = {"Content-Type": kind, "Content-Range": f"bytes {first}-{first + len(content) - 1}/{size}"}
    return httpx.Response(HTTPStatus.PARTIAL_CONTENT, headers=headers, content=content)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


_HEADER_CHARACTERS: Final = 200


def observe(web: Web, page: str, file: str | None) -> Iterator[Observation]:
    """Request one page and one file, None if there is none, as installers do; failures are not reported here."""
    with suppress(NetworkError):
        yield from _of_page(web, page)
    if file is not None:
        with suppress(NetworkError):
            yield from _of_file(web, file)


def _of_page(web: Web, page: str) -> Iterator[Observation]:
    url = without_credentials(page)
    answer = web.get(page, accept=JSON_TYPE)
    other = web.get(page, accept=_ACCEPT_HTML)
    if answer.ok and other.ok:
        yield Observation(topic="vary", url=url, message=_choice(answer, other))
        yield Observation(topic="cache-control", url=url, message=_caching(answer))
        packed = _header(answer, "Content-Encoding") or f"none: {len(answer.content)} bytes are sent as they are"
        yield Observation(topic="compression", url=url, message=packed)


def _of_file(web: Web, file: str) -> Iterator[Observation]:
    url = without_credentials(file)
    part = web.get(file, span="0-0")
    if not part.ok:
        return
    host = urlsplit(part.url).netloc
    by = "" if host == urlsplit(url).netloc else f", after a redirect to {host}"
    is_span = part.status == HTTPStatus.PARTIAL_CONTENT
    given = "a span of bytes" if is_span else "the whole file where a span is asked for"
    yield Observation(topic="ranges", url=url, message=f"gives {given}{by}")
    yield Observation(topic="cache-control", url=url, message=_caching(part))
    yield Observation(topic="head", url=url, message=f"answers {web.get(file, method='HEAD').outcome}")


def _choice(json: Answer, html: Answer) -> str:
    if json.content_type == html.content_type:
        return f"gives {json.content_type or 'no content type'} whatever is asked for"
    named = {part.strip().lower() for part in ",".join((_header(json, "Vary"), _header(html, "Vary"))).split(",")}
    if named & {"accept", "*"}:
        return "gives JSON or HTML as it is asked, and says Vary: Accept"
    return "gives JSON or HTML as it is asked, and does not say Vary: Accept: a cache may give one for the other"


def _caching(answer: Answer) -> str:
    """Describe how long an answer may be kept, and how it is revalidated."""
    kept = _header(answer, "Cache-Control") or "none: how long it is kept is left to clients"
    validators = [name for name in ("ETag", "Last-Modified") if _header(answer, name)]
    again = f"is asked for again by {' or '.join(validators)}" if validators else "is sent whole every time"
    return f"{kept}; {again}"


def _header(answer: Answer, name: str) -> str:
    return answer.headers.get(name, "")[:_HEADER_CHARACTERS]
