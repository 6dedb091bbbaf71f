"""A server of a simple index that chooses between HTML and JSON as it is asked: on this machine, or in this process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote

import httpx

HTML = "text/html"
JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Answer:
    """What lies at a path."""

    content: bytes = b""
    content_type: str = "application/octet-stream"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """What it has, and what it was asked."""

    html: dict[str, Answer] = field(default_factory=dict)
    """Everything but pages in JSON, by path."""
    json: dict[str, Answer] = field(default_factory=dict)
    """Pages in JSON, by path: for those who ask for JSON, and for everybody where there is no HTML."""
    ranges: bool = True
    """Whether a span of a file can be had."""
    plus_is_space: bool = False
    """Whether a + in a path stands for a space, as on S3."""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Path and headers of every request."""
    url: str = ""

    def answer(self, path: str, accept: str) -> Answer:
        """Choose by Accept; redirect to the path with a slash where there is such a page."""
        path = unquote(path.replace("+", " ") if self.plus_is_space else path)
        if path in self.json and (JSON in accept or path not in self.html):
            return self.json[path]
        if path in self.html:
            return self.html[path]
        if f"{path}/" in self.html.keys() | self.json.keys():
            return Answer(status=301, headers={"Location": f"{path}/"})
        return Answer(status=404)

    def respond(self, target: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the content that a request gets."""
        self.asked.append((target, {**headers}))
        answer = self.answer(target, headers.get("Accept", ""))
        content, status, own = answer.content, answer.status, dict(answer.headers)
        if self.ranges and status == 200 and (span := headers.get("Range")):
            first, last = span.removeprefix("bytes=").split("-")
            whole = range(len(content))
            given = whole[int(first) : int(last or len(content)) + 1] if first else whole[-int(last) :]
            own["Content-Range"] = f"bytes {given.start}-{given.stop - 1}/{len(content)}"
            content, status = content[given.start : given.stop], 206
        return status, {"Content-Type": answer.content_type, "Content-Length": str(len(content)), **own}, content


class ServerTransport(httpx.BaseTransport):
    """Answers the requests of a client in this process as a server would."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer as the server does; the content is unpacked when it is read."""
        sent = {name.decode(): value.decode() for name, value in request.headers.raw}
        status, headers, content = self._server.respond(request.url.raw_path.decode(), sent)
        return httpx.Response(status, headers=headers, content=iter([] if request.method == "HEAD" else [content]))


class _Listening(ThreadingHTTPServer):
    """Takes no notice of clients that hang up early, as those do that have read enough."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Serve while the context is open; `url` says where."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one piece

        def do_GET(self) -> None:
            status, headers, content = server.respond(self.path, dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _Listening(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        server.url = f"http://127.0.0.1:{listening.server_port}"
        yield server
        listening.shutdown()
