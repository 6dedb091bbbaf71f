"""Web server for a folder, on this machine only, to try an index out.

It answers files, ranges of them, and pages of the simple API in the form that the client's Accept header prefers. The
rules for hosts, in ``index/hosts``, do the same. PEP 691: ``latest`` asks for the newest version of a form;
``text/html`` is another name for the first version of HTML.
https://packaging.python.org/en/latest/specifications/simple-repository-api/#version-format-selection
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, AnyStr, BinaryIO, Final
from urllib.parse import unquote, urlsplit

from wheelmill.errors import SiteError, UsageError
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE

if TYPE_CHECKING:
    from _typeshed import SupportsRead, SupportsWrite


TEXT_TYPE, HTML_TYPE = HTML_TYPES
_NAMES: Final = {
    JSON_TYPE: (JSON_TYPE, "application/vnd.pypi.simple.latest+json"),
    TEXT_TYPE: (TEXT_TYPE, "text/*", "*/*"),
    HTML_TYPE: (HTML_TYPE, "application/vnd.pypi.simple.latest+html", "application/*", "*/*"),
}
"""By what a client may ask for each, the most exact first. JSON is for those only who name it; at equal weights the
first wins."""
_WEIGHT: Final = re.compile(r"[01](\.\d{0,3})?", re.ASCII)
"""RFC 9110, section 12.4.2."""


def wanted_type(accept: str | None) -> str | None:
    """Choose `JSON_TYPE`, `TEXT_TYPE` or `HTML_TYPE` by an Accept header (RFC 9110, section 12.5.1).

    A client without the header takes anything. The result is None if it takes none of the types.
    """
    weights = dict(map(_read_range, (accept or "*/*").split(",")))
    wanted = {kind: next((weights[name] for name in names if name in weights), 0.0) for kind, names in _NAMES.items()}
    best = max(wanted, key=wanted.__getitem__)
    return best if wanted[best] else None


def _read_range(header: str) -> tuple[str, float]:
    """Read one range of media types; an unreadable weight counts as none."""
    kind, *parameters = (part.strip().lower() for part in header.split(";"))
    weight = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    return kind, float(weight) if _WEIGHT.fullmatch(weight) else 1.0


class Files(SimpleHTTPRequestHandler):
    """Request handler for files and spans of them, without a log line for every request."""

    _span: range | None = None
    """Requested bytes; None for the whole file."""

    def handle(self) -> None:
        """Answer a request; a client may disconnect when it has read enough."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Send status and headers, for a span if one is requested (RFC 9110, section 14)."""
        if not self._is_local:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        path = Path(self.translate_path(self.path))
        # Path.exists fails at names that are too long. No link leads out of the folder.
        if not os.path.exists(path) or not path.resolve().is_relative_to(Path(self.directory).resolve()):  # noqa: PTH110
            self.send_error(HTTPStatus.NOT_FOUND, "File not found")
            return None
        header = self.headers.get("Range")
        if header is None or not path.is_file() or self.path.endswith("/"):
            return super().send_head()
        status = path.stat()
        modified = self.date_time_string(status.st_mtime)
        span = _span_of(header, status.st_size) if self.headers.get("If-Range", modified) == modified else None
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
        """Send a file, or the requested span of it."""
        if self._span is None:
            super().copyfile(source, outputfile)
            return
        for sent in range(0, len(self._span), _PIECE_BYTES):
            outputfile.write(source.read(min(_PIECE_BYTES, len(self._span) - sent)))

    def send_header(self, keyword: str, value: str) -> None:
        """Leave out a Last-Modified of this second, in which the file may change again (RFC 9110, 8.8.2.1)."""
        if keyword != "Last-Modified" or value != self.date_time_string():
            super().send_header(keyword, value)

    def end_headers(self) -> None:
        """Announce support for ranges."""
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    @property
    def _is_local(self) -> bool:
        """True unless a browser's page of another host let that host's name lead to this server."""
        with suppress(ValueError):
            return urlsplit(f"//{self.headers.get('Host', 'localhost')}").hostname in ("127.0.0.1", "localhost")
        return False

    def _end_without_content(self) -> None:
        self.send_header("Content-Length", "0")
        self.end_headers()


class Forms(Files):
    """Request handler for pages of the simple API in the client's form, like the rules in ``index/hosts``."""

    path = ""
    """The requested address; the base class answers a request line that it cannot read before it has one."""
    _form: str | None = None
    """The type of the page that is answered, where the client chose it."""

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Choose the form; redirect an address of one form to its file, since links may be relative."""
        if named := _ONE_FORM.fullmatch(unquote(self.path)):
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
        """Return the chosen type, or that of the file's name."""
        return self._form or super().guess_type(path)

    def end_headers(self) -> None:
        """Announce that the answer depends on the request's Accept header."""
        if "/simple/" in self.path:
            self.send_header("Vary", "Accept")
        super().end_headers()


def _span_of(header: str, size: int) -> range | None:
    """Read a Range header of one span; empty if the file does not have the span, None if the header is ignored."""
    if (match := _RANGE.fullmatch(header)) is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, size) if last else size)


_PIECE_BYTES: Final = 1 << 16
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_PAGE: Final = re.compile(r"(/[^/?]+)*/simple/([^/?]+/)?")
_JSON_PAGE: Final = re.compile(r".*/simple/([^/?]+/)?index\.json")
_ONE_FORM: Final = re.compile(r"(?P<tree>(/[\w.-]+)*/simple)/v1\+(?P<form>json|html)/(?P<project>[\w.-]+/)?", re.ASCII)

_POLL_INTERVAL_S: Final = 0.05


class _Server(ThreadingHTTPServer):
    """Server with a queue for as many connections as uv opens at once: a refused one is retried after a second."""

    request_queue_size = 128


def project_lists_below(directory: Path) -> list[Path]:
    """Return the folders of all project lists in a folder."""
    if is_project_list(directory):
        return [directory]
    folders = (page.parent for page in directory.glob("**/simple/index.html"))
    lists = sorted(folder for folder in folders if _has_list_page(folder) and not _is_of_a_project(folder, directory))
    if not lists:
        raise SiteError("not-a-site", f"{directory} holds no simple index")
    return lists


def is_project_list(directory: Path) -> bool:
    """Return whether a folder is that of a project list itself."""
    return directory.resolve().name == "simple" and _has_list_page(directory)


def _has_list_page(folder: Path) -> bool:
    """Return whether a folder called ``simple`` has a project list: a site of that name has a page for people."""
    return (folder / "index.html").is_file() and not (folder / WHEELS_JSON).is_file()


def _is_of_a_project(folder: Path, directory: Path) -> bool:
    """Return whether a folder ``simple`` is for a project of this name: in a project list or among pages for people."""
    *above, outer, _ = ("", *folder.relative_to(directory).parts)
    if outer == "simple":
        return _has_list_page(folder.parent)
    return outer == "packages" and directory.joinpath(*above, WHEELS_JSON).is_file()


def root_of(directory: Path) -> Path:
    """Return the folder to serve: a site beside its releases links to them above its own root."""
    beside = (directory / "simple").is_dir() and (directory.parent / "releases").is_dir()
    return directory.parent if beside else directory


@contextmanager
def serve_folder(directory: Path, port: int = 0, *, negotiate: bool = False) -> Iterator[str]:
    """Serve a folder on 127.0.0.1 while the context is open, and yield its URL with a trailing slash.

    Port 0 takes a free one. With `negotiate`, clients get pages in their form, as from hosts with the rules in
    ``index/hosts``; without it they get HTML, as from GitHub Pages.
    """
    answers = partial(Forms if negotiate else Files, directory=str(directory))
    try:
        listening = _Server(("127.0.0.1", port), answers)
    except OSError as error:
        hint = "give another port; 0 takes a free one"
        raise UsageError("port-unusable", f"cannot serve at 127.0.0.1:{port}: {error.strerror}", hint=hint) from None
    with listening as server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_INTERVAL_S,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
