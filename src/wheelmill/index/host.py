"""What a host of an index answers: files, spans of them, and pages of the simple API in the form a client wants."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, AnyStr, BinaryIO, Final
from urllib.parse import unquote

from wheelmill.index.negotiation import wanted_type
from wheelmill.web.pages import JSON_TYPE

if TYPE_CHECKING:
    from _typeshed import SupportsRead, SupportsWrite


class Files(SimpleHTTPRequestHandler):
    """Answers with files and with spans of them, without writing a line for every request."""

    _span: range | None = None
    """The bytes that were asked for, where it is not all of them."""

    def handle(self) -> None:
        """Answer a request; a client may hang up when it has read enough."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Send status and headers, of a span where one is asked for (RFC 9110, section 14)."""
        path = Path(self.translate_path(self.path))
        if not os.path.exists(path):  # noqa: PTH110 - Path.exists fails at names that are too long
            self.send_error(HTTPStatus.NOT_FOUND, "File not found")
            return None
        asked = self.headers.get("Range")
        if asked is None or not path.is_file() or self.path.endswith("/"):
            return super().send_head()
        status = path.stat()
        modified = self.date_time_string(status.st_mtime)
        span = _span_of(asked, status.st_size) if self.headers.get("If-Range", modified) == modified else None
        if span is None:
            return super().send_head()
        if not span:
            self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_header("Content-Range", f"bytes */{status.st_size}")
            self._end_without_content()
            return None
        self.send_response(HTTPStatus.PARTIAL_CONTENT)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Range", f"bytes {span.start}-{span.stop - 1}/{status.st_size}")
        self.send_header("Content-Length", str(len(span)))
        self.send_header("Last-Modified", modified)
        self.end_headers()
        self._span = span
        file = path.open("rb")
        file.seek(span.start)
        return file

    def copyfile(self, source: SupportsRead[AnyStr], outputfile: SupportsWrite[AnyStr]) -> None:
        """Send a file, or as much of it as was asked for."""
        if self._span is None:
            super().copyfile(source, outputfile)
            return
        for sent in range(0, len(self._span), _PIECE):
            outputfile.write(source.read(min(_PIECE, len(self._span) - sent)))

    def send_header(self, keyword: str, value: str) -> None:
        """Leave out Last-Modified if it is this second, in which the file may change again (RFC 9110, 8.8.2.1)."""
        if keyword != "Last-Modified" or value != self.date_time_string():
            super().send_header(keyword, value)

    def end_headers(self) -> None:
        """Announce that ranges are supported."""
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def _end_without_content(self) -> None:
        self.send_header("Content-Length", "0")
        self.end_headers()


class Forms(Files):
    """Serves pages of the simple API in the form that a client wants, as the rules in ``index/hosts`` do."""

    _form: str | None = None
    """The type of the page that is answered, where the client chose it."""

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Choose the form; an address of one form leads to its file, since links may be relative."""
        if named := _OF_ONE_FORM.fullmatch(unquote(self.path)):
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", f"{named['tree']}/{named['project'] or ''}index.{named['form']}")
            self._end_without_content()
            return None
        page = f"{self.translate_path(self.path)}index.json"
        if _PAGE.fullmatch(self.path) and os.path.isfile(page):  # noqa: PTH113 - as in `Files`
            self._form = wanted_type(",".join(self.headers.get_all("Accept", [])) or None)
            if self._form is None:
                self.send_response(HTTPStatus.NOT_ACCEPTABLE)
                self._end_without_content()
                return None
            self.path += "index.json" if self._form == JSON_TYPE else "index.html"
        elif _JSON_PAGE.fullmatch(self.path):
            self._form = JSON_TYPE
        return super().send_head()

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """The type that was chosen, or that of the file's name."""
        return self._form or super().guess_type(path)

    def end_headers(self) -> None:
        """Announce that the answer depends on the request's Accept header."""
        if "/simple/" in self.path:
            self.send_header("Vary", "Accept")
        super().end_headers()


def _span_of(asked: str, size: int) -> range | None:
    """Read a Range header: empty for a span that the file does not have, None for one that is answered as without it.

    Args:
        asked: the header; only that of one span is answered with it.
        size: bytes of the file.
    """
    if (match := _RANGE.fullmatch(asked)) is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, size) if last else size)


_PIECE: Final = 1 << 16
"""Bytes that are read and sent at once."""
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_PAGE: Final = re.compile(r"(/[^/?]+)*/simple/([^/?]+/)?")
_JSON_PAGE: Final = re.compile(r".*/simple/([^/?]+/)?index\.json")
_OF_ONE_FORM: Final = re.compile(
    r"(?P<tree>(/[\w.-]+)*/simple)/v1\+(?P<form>json|html)/(?P<project>[\w.-]+/)?", re.ASCII
)
