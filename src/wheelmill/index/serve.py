"""Serving a folder on this machine only, to try an index out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from wheelmill.errors import SiteError, UsageError
from wheelmill.index.records import JSON_TYPE


def project_lists_below(directory: Path) -> list[Path]:
    """The folders of all project lists in a folder.

    Raises:
        SiteError: there is none.
    """
    lists = sorted(page.parent for page in directory.glob("**/simple/index.html"))
    if not lists and directory.resolve().name == "simple" and (directory / "index.html").is_file():
        return [directory]
    if not lists:
        raise SiteError(f"{directory} holds no simple index")
    return lists


def root_of(directory: Path) -> Path:
    """What has to be served: a site that was made beside its releases links to them above its own root."""
    beside = (directory / "simple").is_dir() and (directory.parent / "releases").is_dir()
    return directory.parent if beside else directory


class _Quiet(SimpleHTTPRequestHandler):
    """Answers without writing a line for every request."""

    def handle(self) -> None:
        """Answer, also those who hang up when they have read enough."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


class _Negotiating(_Quiet):
    """Gives the JSON of an index to clients that ask for it, as index/nginx.conf has nginx do."""

    def translate_path(self, path: str) -> str:
        """Lead to the JSON beside a page that would otherwise be given."""
        found = super().translate_path(path)
        wanted = JSON_TYPE in self.headers.get("Accept", "")
        return f"{found}index.json" if wanted and Path(found, "index.json").is_file() and found.endswith("/") else found

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """The type of the simple API for its JSON."""
        return JSON_TYPE if str(path).endswith("/index.json") else super().guess_type(path)


@contextmanager
def serving(directory: Path, port: int = 0, *, negotiate: bool = False) -> Iterator[str]:
    """Serve a folder on 127.0.0.1 while the context is open.

    Args:
        directory: what to serve.
        port: where; 0 takes a free one.
        negotiate: give JSON to clients that ask for it; GitHub Pages does not.

    Yields:
        The URL of the folder, with a slash at its end.

    Raises:
        UsageError: the port is taken.
    """
    answers = partial(_Negotiating if negotiate else _Quiet, directory=str(directory))
    try:
        listening = ThreadingHTTPServer(("127.0.0.1", port), answers)
    except OSError as error:
        hint = "give another port; 0 takes a free one"
        raise UsageError(f"cannot serve at 127.0.0.1:{port}: {error.strerror}", hint=hint) from None
    with listening as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
