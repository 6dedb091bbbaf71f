"""Hosts of an index, each with the rules that ship for it, and what they have to answer to an Accept header."""

import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from tests.machine_folders import npm_modules
from tests.programs import find_program
from wheelmill.index.serve import serve_folder
from wheelmill.system import own_installation

RULES = own_installation.INDEX / "hosts"
JSON = "application/vnd.pypi.simple.v1+json"
HTML = "application/vnd.pypi.simple.v1+html"
TEXT = "text/html"
PIP = f"{JSON}, {HTML}; q=0.1, text/html; q=0.01"
UV = f"{JSON}, {HTML};q=0.2, text/html;q=0.01"

WANTED: list[tuple[str | None, str | None]] = [
    (None, TEXT),
    ("*/*", TEXT),
    (PIP, JSON),
    (UV, JSON),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", TEXT),
    (TEXT, TEXT),
    ("TEXT/HTML", TEXT),
    ("text/*", TEXT),
    (HTML, HTML),
    ("application/*", HTML),
    ("application/vnd.pypi.simple.latest+html", HTML),
    ("application/vnd.pypi.simple.latest+json", JSON),
    (JSON, JSON),
    (f"{JSON}, text/html", JSON),
    (f"text/html;q=0.5,{JSON};q=0.5", JSON),
    (f"text/html;q=0.5,{JSON};q=0.49", TEXT),
    (f"text/html;q=0.105,{JSON};q=0.1", TEXT),
    (f"text/html;q=0.1,{JSON};q=0.105", JSON),
    (f"text/html; q=0.9, {HTML}, {JSON}; q=0.95", HTML),
    (f"text/html; q=0.3, {HTML}; q=0.5", HTML),
    (f"text/html; q=1.0, {JSON}; q=0.999", TEXT),
    (f"{JSON};q=0, text/html;q=0.001", TEXT),
    (f"{JSON};q=0,*/*;q=0.1", TEXT),
    (f"{JSON};q=0", None),
    (f"{JSON};q=0.000", None),
    ("image/png", None),
    ("application/json", None),
    ("application/vnd.pypi.simple.v2+json", None),
    ("text/html;q=0", None),
]
"""What clients send, and the type of the page that they get."""


@dataclass(frozen=True)
class Answer:
    """What a host answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def ask(url: str, *, method: str = "GET", **headers: str) -> Answer:
    """Ask for a URL as it is written; an underscore in the name of a header is a hyphen."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.putrequest(method, parts.path, skip_accept_encoding=True)
        for name, text in headers.items():
            connection.putheader(name.replace("_", "-"), text)
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, httpx.Headers(answer.getheaders()), answer.read())
    finally:
        connection.close()


Host = Callable[[Path], AbstractContextManager[str]]
"""Serves a folder, and gives its URL with a slash at the end."""


@contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """Serve a folder with nginx."""
    program = find_program("nginx", "nginx-light")
    own = folder / ".nginx"
    own.mkdir(exist_ok=True)
    port = _free_port()
    (own / "nginx.conf").write_text(
        f"pid {own}/pid; error_log {own}/errors; daemon off; user root;\nevents {{}}\n"
        f"http {{ include /etc/nginx/mime.types; access_log off;\n{_rules('nginx.conf', folder, port)}\n}}\n"
    )
    with _running([program, "-p", str(own), "-c", str(own / "nginx.conf")], port) as url:
        yield url


@contextmanager
def caddy(folder: Path) -> Iterator[str]:
    """Serve a folder with Caddy."""
    program = find_program("caddy")
    own = folder / ".caddy"
    own.mkdir(exist_ok=True)
    port = _free_port()
    own.joinpath("Caddyfile").write_text(f"{{\n\tadmin off\n}}\n{_rules('Caddyfile', folder, port)}")
    with _running([program, "run", "--adapter", "caddyfile", "--config", str(own / "Caddyfile")], port) as url:
        yield url


@contextmanager
def cloudflare(folder: Path) -> Iterator[str]:
    """Serve a folder with what Cloudflare has for trying Pages out, which runs the worker as Cloudflare does."""
    program = npm_modules(WRANGLER) / ".bin" / "wrangler"
    port = _free_port()
    with tempfile.TemporaryDirectory() as place:
        site = Path(place, "site")
        shutil.copytree(folder, site)
        for rules in (RULES / "cloudflare").iterdir():
            shutil.copy(rules, site)
        env = os.environ | {"HOME": place, "CI": "1", "WRANGLER_SEND_METRICS": "false"}
        options = ["--ip", "127.0.0.1", "--port", str(port), "--compatibility-date", "2026-01-01"]
        with _running([str(program), "pages", "dev", str(site), *options], port, cwd=Path(place), env=env) as url:
            yield url


WRANGLER: Final = "wrangler@4.86.0"
HOSTS: dict[str, Host] = {
    "nginx": nginx,
    "Caddy": caddy,
    "Cloudflare Pages": cloudflare,
    "index serve": partial(serve_folder, negotiate=True),
}


def _rules(name: str, folder: Path, port: int) -> str:
    return (RULES / name).read_text().replace("/srv/index", str(folder)).replace("8080", str(port))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def _running(
    argv: list[str], port: int, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    with subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
