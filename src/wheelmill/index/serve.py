"""Serving a folder on this machine only, to try an index out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    """Answers without writing a line for every request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextmanager
def serving(directory: Path, port: int = 0) -> Iterator[str]:
    """Serve a folder on 127.0.0.1 while the context is open.

    Args:
        directory: what to serve.
        port: where; 0 takes a free one.

    Yields:
        The URL of the folder, with a slash at its end.
    """
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
