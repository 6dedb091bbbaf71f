"""A folder that answers requests as a static host would."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

import httpx

from wheelmill.web.pages import JSON_TYPE

ORIGIN: Final = "http://folder.invalid"
"""What stands for the host. No name under .invalid is ever given away (RFC 2606)."""

_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}
_CHUNK: Final = 1 << 20


class FolderTransport(httpx.BaseTransport):
    """Answers for `ORIGIN`. ``index.json`` is served beside ``index.html`` to those who ask for the simple API.

    Args:
        root: nothing outside it is read.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer with a file, with the page of a folder, or with 404."""
        try:
            return self._answer(request)
        except OSError:  # a name that is too long, a file that nobody may read
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
        return _file(
            path, kind or _TYPES.get(path.suffix, "application/octet-stream"), request.headers.get("Range", "")
        )


def _file(path: Path, kind: str, span: str) -> httpx.Response:
    """A file or a span of it. The request is our own, so that its Range has one form."""
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
