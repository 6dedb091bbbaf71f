"""Servers of pages on this machine that remember what they were asked."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html"})


@dataclass
class PageServer:
    """What a server has, by path, and what it was asked."""

    url: str = ""
    pages: dict[str, Answer | Callable[[Mapping[str, str]], Answer]] = field(default_factory=dict)
    """An answer, or what makes one of the request's headers."""
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        self.asked.append((path, headers))
        found = self.pages.get(path, Answer(b"not here", 404))
        return found(headers) if callable(found) else found

    @property
    def authorizations(self) -> list[str | None]:
        return [headers.get("Authorization") for _, headers in self.asked]

    def with_tag(self, path: str, body: bytes, tag: str, **headers: str) -> None:
        """Serve a page that knows whether it has changed."""

        def answer(request: Mapping[str, str]) -> Answer:
            own = {"Content-Type": "text/html", "ETag": tag, **headers}
            return Answer(b"", 304, own) if request.get("If-None-Match") == tag else Answer(body, 200, own)

        self.pages[path] = answer


@contextmanager
def page_server(tls: ssl.SSLContext | None = None, *, address: str = "127.0.0.1") -> Iterator[PageServer]:
    """Serve until the context is left; over https where there is a certificate."""
    served = PageServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one piece

        def do_GET(self) -> None:
            answer = served.answer(self.path, self.headers)  # type: ignore[arg-type]
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = True
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        served.url = f"{'https' if tls else 'http'}://{address}:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield served
        server.shutdown()
        thread.join()


def links_page(*names: str, sha256: str | None = "0" * 64) -> bytes:
    """A page that links to files beside it."""
    fragment = f"#sha256={sha256}" if sha256 else ""
    anchors = "\n".join(f'<a href="{quote(name)}{fragment}">{name}</a><br>' for name in names)
    return f"<!DOCTYPE html><html><body>\n{anchors}\n</body></html>".encode()


def guarded(
    answer: Answer | Callable[[Mapping[str, str]], Answer], header: str
) -> Callable[[Mapping[str, str]], Answer]:
    """What is given only to those who send this Authorization."""

    def check(headers: Mapping[str, str]) -> Answer:
        if headers.get("Authorization") != header:
            return Answer(status=401, headers={"WWW-Authenticate": "Basic realm=index"})
        return answer(headers) if callable(answer) else answer

    return check


def in_pieces(content: bytes) -> Callable[[Mapping[str, str]], Answer]:
    """A file that is given whole, or the part that is asked for."""

    def answer(headers: Mapping[str, str]) -> Answer:
        wanted = headers.get("Range", "").removeprefix("bytes=")
        if not wanted:
            return Answer(content, headers={})
        first, _, last = wanted.partition("-")
        start = int(first) if first else max(0, len(content) - int(last))
        end = min(int(last), len(content) - 1) if first else len(content) - 1
        return Answer(content[start : end + 1], 206, {"Content-Range": f"bytes {start}-{end}/{len(content)}"})

    return answer
