"""An image registry as https://github.com/opencontainers/distribution-spec and distribution's token page specify."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = b'{"schemaVersion": 2}'

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Registry:
    """What a registry has, how it behaves, and what it was asked."""

    tags: dict[str, str] = field(default_factory=dict)
    """``a/b:1``: the digest of the index."""
    token: str | None = "everybody's"
    """None for a registry that asks for none."""
    token_body: bytes | None = None
    challenge: str | None = None
    """Another WWW-Authenticate than the one that leads to the token."""
    redirect: str | None = None
    """Where those who have the token are sent."""
    tells_digest: bool = True
    first: list[Answer] = field(default_factory=list)
    """Answers to give before any other."""
    asked: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    """Method, path and headers of every request."""
    host: str = ""

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        if self.first:
            return self.first.pop(0)
        url = urlsplit(path)
        if url.path == "/token":
            wanted = {"service": ["registry.test"], "scope": ["repository:a/b:pull"], "account": ["anybody"]}
            body = self.token_body or json.dumps({"token": self.token}).encode()
            return (200, {}, body) if parse_qs(url.query) == wanted else (400, {}, b"")
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            own = (
                f'realm="http://{self.host}/token?account=anybody",service="registry.test",scope="repository:a/b:pull"'
            )
            return 401, {"WWW-Authenticate": self.challenge or f"Bearer {own}"}, b""
        if self.redirect:
            return 307, {"Location": self.redirect + path}, b""
        name, _, tag = url.path.removeprefix("/v2/").partition("/manifests/")
        if (digest := self.tags.get(f"{name}:{tag}")) is None:
            return 404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'
        one_platform = "sha256:" + "0" * 64
        shown = digest if INDEX in headers.get("Accept", "") else one_platform
        return 200, {"Docker-Content-Digest": shown} if self.tells_digest else {}, MANIFEST


@contextmanager
def serving(registry: Registry) -> Iterator[Registry]:
    """Serve a registry while the context is open; its `host` says where."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append((self.command, self.path, dict(self.headers)))
            status, headers, body = registry.answer(self.path, dict(self.headers))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        registry.host = f"127.0.0.1:{server.server_port}"
        yield registry
        server.shutdown()
