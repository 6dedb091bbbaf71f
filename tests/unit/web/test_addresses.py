"""Public servers that lead to inner addresses, and all that may lead there."""

import socket
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import httpx
import pytest

from tests.page_server import Answer, PageServer, page_server
from tests.refusals import coded
from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.errors import NetworkError
from wheelmill.web import transport
from wheelmill.web.client import ATTENDED, Web
from wheelmill.web.transport import Addresses, Retries, is_global

PUBLIC = "127.0.0.2"
"""Counts as an address of the public network here."""
SECRET = b"of the inner server"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Addresses of names, and of those alone; all loopback but one is inner."""
    known: dict[str, str] = {}
    resolve, real = socket.getaddrinfo, is_global

    def getaddrinfo(host: str, *arguments: Any, **options: Any) -> Any:
        is_literal = options.get("flags", 0) & socket.AI_NUMERICHOST
        return resolve(host if is_literal else known.get(host, host), *arguments, **options)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    monkeypatch.setattr(transport, "is_global", lambda text: text == PUBLIC or real(text))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return known


@pytest.fixture
def inner() -> Iterator[PageServer]:
    with page_server() as server:
        server.pages |= {"/": Answer(SECRET), "/index/": Answer(b"page")}
        yield server


@pytest.fixture
def public() -> Iterator[PageServer]:
    with page_server(address=PUBLIC) as server:
        server.pages["/"] = Answer(b"page")
        yield server


def redirect(server: PageServer, to: str) -> str:
    server.pages["/moved"] = Answer(status=302, headers={"Location": to})
    return f"{server.url}/moved"


def port_of(server: PageServer) -> str:
    return server.url.rpartition(":")[2]


ADDRESSES = {
    True: ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"],
    False: [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0"),
        *("224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fec0::1"),
        *("ff02::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::"),
        *("::ffff:0:127.0.0.1", "2001:0:7f00:1::"),
    ],
}


def test_addresses_of_the_public_network() -> None:
    every = [address for many in ADDRESSES.values() for address in many]
    assert [address for address in every if is_global(address)] == ADDRESSES[True]


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f.1", "2130706433", "127.1", "localhost", "a.localhost"])
def test_a_redirect_of_a_public_server_to_this_machine(host: str, public: PageServer, inner: PageServer) -> None:
    url = redirect(public, f"http://{host}:{port_of(inner)}/")
    with Web(retries=ATTENDED) as web, pytest.raises(NetworkError, check=coded("address-inner", host)):
        web.read(url)
    assert inner.asked == []


@pytest.mark.usefixtures("names")
def test_a_redirect_in_octal_is_no_url(public: PageServer, inner: PageServer) -> None:
    url = redirect(public, f"http://0177.0.0.1:{port_of(inner)}/")
    with Web(retries=Retries(lambda _: None)) as web, pytest.raises(NetworkError):
        web.read(url)
    assert inner.asked == []


@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "2852039166"])
@pytest.mark.usefixtures("names")
def test_a_redirect_to_the_metadata_of_a_cloud(host: str, public: PageServer) -> None:
    url = redirect(public, f"http://{host}/latest/meta-data/")
    with Web(retries=ATTENDED) as web, pytest.raises(NetworkError, check=coded("address-inner")):
        web.read(url)


def test_a_redirect_to_a_name_of_an_inner_address(names: dict[str, str], public: PageServer, inner: PageServer) -> None:
    names["harmless.example"] = "127.0.0.1"
    url = redirect(public, f"http://harmless.example:{port_of(inner)}/")
    with Web(retries=ATTENDED) as web:
        with pytest.raises(NetworkError, check=coded("address-inner", "harmless.example at 127.0.0.1")):
            web.read(url)
        assert web.read(f"http://harmless.example:{port_of(inner)}/") == SECRET  # the user's own word
        with pytest.raises(NetworkError, check=coded("address-inner", "harmless.example")):
            web.read(url)  # also where the connection is there already
    assert len(inner.asked) == 1


def test_a_name_that_resolves_anew_later(names: dict[str, str], public: PageServer, inner: PageServer) -> None:
    names["rebound.example"] = PUBLIC
    root = f"http://rebound.example:{port_of(public)}/"
    with Fetcher(root, sleep=lambda _: None, politeness=Politeness(rate=1e9)) as fetcher:
        assert fetcher.get(root).ok
        names["rebound.example"] = "127.0.0.1"
        found = fetcher.get(f"http://rebound.example:{port_of(inner)}/")
    assert (found.ok, "rebound.example at 127.0.0.1" in (found.problem or "")) == (False, True)
    assert inner.asked == []


@pytest.mark.usefixtures("names")
def test_a_link_of_a_public_index_to_an_inner_address(public: PageServer, inner: PageServer) -> None:
    with Fetcher(f"{public.url}/", sleep=lambda _: None, politeness=Politeness(rate=1e9)) as fetcher:
        assert fetcher.get(f"{public.url}/").ok
        found = fetcher.get(f"{inner.url}/")
        assert not fetcher.download(f"{inner.url}/", BytesIO(), 100)
    assert "not an address of the public network" in (found.problem or "")
    assert inner.asked == []


def test_an_index_of_a_company_leads_anywhere(names: dict[str, str], public: PageServer, inner: PageServer) -> None:
    """Its name may be public, with an address of its own inside (split DNS)."""
    names |= {"wheels.example": "127.0.0.1", "files.example": "127.0.0.3"}
    with page_server(address="127.0.0.3") as files:
        files.pages["/x.whl"] = Answer(b"wheel")
        root = f"http://wheels.example:{port_of(inner)}/index/"
        inner.pages["/out"] = Answer(status=302, headers={"Location": f"{public.url}/"})
        inner.pages["/other"] = Answer(status=302, headers={"Location": f"{files.url}/x.whl"})
        with Fetcher(root, sleep=lambda _: None, politeness=Politeness(rate=1e9)) as fetcher:
            for url in (
                *(root, f"http://files.example:{port_of(files)}/x.whl", f"{files.url}/x.whl", f"{inner.url}/"),
                *(f"http://wheels.example:{port_of(inner)}/out", f"http://wheels.example:{port_of(inner)}/other"),
            ):
                assert fetcher.get(url).ok, url


@pytest.mark.usefixtures("names")
def test_a_public_server_leads_to_public_ones_and_the_user_anywhere(public: PageServer, inner: PageServer) -> None:
    url = redirect(public, f"{public.url}/")
    with Web(retries=ATTENDED, start=f"{public.url}/") as web:
        assert web.read(url) == b"page"
    with Web(retries=ATTENDED) as web:
        assert web.read(f"{inner.url}/") == SECRET
        assert web.read(redirect(inner, f"{public.url}/")) == b"page"
        inner.pages["/via"] = Answer(status=302, headers={"Location": redirect(public, f"{inner.url}/")})
        with pytest.raises(NetworkError, check=coded("address-inner")):  # by the public one between them
            web.read(f"{inner.url}/via")


def test_a_proxy_is_no_way_inside(names: dict[str, str], inner: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is at an inner address itself, and resolves names."""
    names.clear()
    monkeypatch.setenv("HTTP_PROXY", inner.url)
    monkeypatch.setenv("NO_PROXY", "")
    inner.pages |= {
        "http://public.example/": Answer(b"page"),
        "http://public.example/in": Answer(status=302, headers={"Location": "http://10.0.0.1/"}),
        "http://public.example/out": Answer(status=302, headers={"Location": "http://files.example/"}),
        "http://files.example/": Answer(b"file"),
    }
    with Web(retries=ATTENDED, start="http://public.example/") as web:
        assert web.read("http://public.example/") == b"page"
        assert web.read("http://public.example/out") == b"file"
        for url in ("http://public.example/in", "http://0x0a.1/", f"{inner.url}/"):
            with pytest.raises(NetworkError, check=coded("address-inner")):
                web.read(url)


def test_a_host_is_compared_as_connections_name_it() -> None:
    peers = Addresses()
    leader = httpx.URL("http://public.example/")
    trace = peers.guard(httpx.URL("http://bücher.example/"), leader)
    trace("connection.connect_tcp.started", {"host": "xn--bcher-kva.example"})
    stream = _Stream()
    with pytest.raises(NetworkError, check=coded("address-inner", "xn--bcher-kva.example at ::1")):
        trace("connection.connect_tcp.complete", {"return_value": stream})
    assert stream.closed


class _Stream:
    closed = False

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return "::1", 80

    def close(self) -> None:
        self.closed = True
