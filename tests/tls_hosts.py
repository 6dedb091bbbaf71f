"""Servers of any name on this machine, over https and http: a proxy leads every host to the same two."""

import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.parse import urlsplit

from tests.page_server import PageServer, page_server

_NEW_KEY = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


@dataclass(frozen=True)
class Hosts:
    """What every host answers, and the variables that lead programs to it."""

    secure: PageServer
    """Over https, whatever the name and the port."""
    plain: PageServer
    """Over http."""
    environment: Mapping[str, str]

    @property
    def asked(self) -> list[tuple[str, str | None]]:
        """The origin of every request, and the credential that it had."""
        return [
            (f"{scheme}://{headers['Host']}", headers.get("Authorization"))
            for scheme, server in (("https", self.secure), ("http", self.plain))
            for _, headers in server.asked
        ]


@dataclass(frozen=True)
class Certificates:
    """A certificate authority, and a certificate that it made."""

    authority: Path
    context: ssl.SSLContext


@contextmanager
def tls_hosts(certificates: Certificates) -> Iterator[Hosts]:
    """Serve until the context is left, with these certificates."""
    with (
        page_server() as plain,
        page_server(certificates.context) as secure,
        ThreadingTCPServer(("127.0.0.1", 0), _Proxy) as proxy,
    ):
        proxy.daemon_threads = True
        proxy.ports = {"https": urlsplit(secure.url).port, "http": urlsplit(plain.url).port}  # type: ignore[attr-defined]
        Thread(target=proxy.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        proxies = {name: url for scheme in ("http", "https") for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY")}
        trusted = str(certificates.authority)
        trust = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"), trusted)
        yield Hosts(secure=secure, plain=plain, environment={**proxies, **trust, "NO_PROXY": "", "no_proxy": ""})
        proxy.shutdown()


def make_certificates(folder: Path, names: Sequence[str]) -> Certificates:
    """Make a certificate for hosts of these names, in a folder."""
    authority = ("-subj", "/CN=a test", "-addext", "basicConstraints=critical,CA:TRUE")
    usage = ("-addext", "keyUsage=critical,keyCertSign")  # which Python asks for from 3.13 on
    _openssl(*_NEW_KEY, "-keyout", folder / "ca.key", "-out", folder / "ca.pem", *authority, *usage)
    hosts = ",".join(f"DNS:{name}" for name in names)
    signed = ("-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-subj", "/CN=hosts")
    leaf = ("-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={hosts}")
    _openssl(*_NEW_KEY, "-keyout", folder / "own.key", "-out", folder / "own.pem", *signed, *leaf)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.pem", folder / "own.key")
    return Certificates(authority=folder / "ca.pem", context=context)


def _openssl(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True)


class _Proxy(StreamRequestHandler):
    """Opens a tunnel for https, and passes requests of http on (RFC 9110, sections 7.6 and 9.3.6)."""

    def handle(self) -> None:
        method, target, _ = self.rfile.readline().decode().split()
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        ports = self.server.ports  # type: ignore[attr-defined]
        with ExitStack() as stack, suppress(OSError):
            scheme = "https" if method == "CONNECT" else "http"
            server = stack.enter_context(socket.create_connection(("127.0.0.1", ports[scheme])))
            if scheme == "https":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = target.partition("://")[2].partition("/")[2]
                server.sendall(f"{method} /{path} HTTP/1.1\r\n".encode() + head + b"Connection: close\r\n\r\n")
            Thread(target=_pump, args=(server, self.connection), daemon=True).start()
            _pump(self.connection, server)


def _pump(source: socket.socket, destination: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            destination.sendall(content)
        destination.shutdown(socket.SHUT_WR)
