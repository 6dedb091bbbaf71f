"""Asking servers that are slow, huge, or curious. What is told of a host that no rule asks for."""

import base64
import socketserver
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Thread
from typing import ClassVar

import pytest

from tests.good_index import PAGE, WHEEL
from tests.refusals import coded
from tests.simple_server import Answer, Server, serving
from tests.unit.conformance.conftest import AT_ONCE, Serve, check, detail, numbers
from wheelmill.conformance.fetch import MAX_LATE, Fetcher, Politeness, observe
from wheelmill.conformance.survey import check_url
from wheelmill.errors import NetworkError
from wheelmill.web.client import Web
from wheelmill.web.transport import Retries


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        yield stack.enter_context(serving(Server())), stack.enter_context(serving(Server()))


def authorizations(server: Server) -> list[str | None]:
    return [headers.get("Authorization") for _, headers in server.asked]


def test_credentials_go_to_their_own_origin_and_nowhere_else(servers: tuple[Server, Server]) -> None:
    own, other = servers
    own.html["/page"] = Answer(status=302, headers={"Location": f"{other.url}/stolen"})
    with Fetcher(own.url.replace("//", "//user:word@"), politeness=AT_ONCE, sleep=time.sleep) as fetcher:
        answers = [fetcher.get(f"{own.url}/page"), fetcher.get(f"{other.url}/direct")]
        answers.append(fetcher.get(f"{own.url.replace('//', '//user:word@')}/page"))
    basic = f"Basic {base64.b64encode(b'user:word').decode()}"
    assert authorizations(own) == [basic, basic]
    assert authorizations(other) == [None, None, None]
    assert not [answer for answer in answers if "word" in repr(answer)]


def test_redirects_are_followed_and_circles_are_not(servers: tuple[Server, Server]) -> None:
    own, other = servers
    own.html["/here"] = Answer(status=302, headers={"Location": f"{other.url}/there"})
    own.html["/circle"] = Answer(status=302, headers={"Location": "/circle"})
    own.html["/file"] = Answer(status=302, headers={"Location": "file:///etc/passwd"})
    other.html["/there"] = Answer(b"found")
    with Fetcher(own.url, politeness=AT_ONCE, sleep=lambda _seconds: None) as fetcher:
        found = fetcher.get(f"{own.url}/here")
        assert (found.ok, found.content, found.final_url) == (True, b"found", f"{other.url}/there")
        for path in ("circle", "file"):
            answer = fetcher.get(f"{own.url}/{path}")
            assert (answer.status, answer.ok, answer.content) == (0, False, b"")
            assert answer.problem


def test_a_page_that_is_too_large_is_not_kept(servers: tuple[Server, Server]) -> None:
    own, _ = servers
    bomb = zlib.compress(bytes(1 << 20))
    own.html["/plain"] = Answer(bytes(2000))
    own.html["/bomb"] = Answer(bomb, headers={"Content-Encoding": "deflate"})
    with Fetcher(own.url, politeness=AT_ONCE, sleep=time.sleep) as fetcher:
        for path in ("plain", "bomb"):
            answer = fetcher.get(f"{own.url}/{path}", limit=1999)
            assert (answer.ok, answer.content) == (False, b"")
            assert answer.failure == "has more than 1999 bytes"


def test_a_size_of_thousands_of_digits_is_none(servers: tuple[Server, Server]) -> None:
    own, _ = servers
    own.html["/file"] = Answer(b"x", status=206, headers={"Content-Range": f"bytes 0-0/{'9' * 5000}"})
    with Fetcher(own.url, politeness=AT_ONCE, sleep=time.sleep) as fetcher:
        answer = fetcher.first_byte(f"{own.url}/file")
    assert (answer.ok, answer.size) == (True, None)


def test_a_busy_server_is_asked_again(servers: tuple[Server, Server]) -> None:
    own, _ = servers
    own.html["/busy"] = Answer(status=503, headers={"Retry-After": "7"})
    pauses: list[float] = []
    with Fetcher(own.url, politeness=AT_ONCE, sleep=pauses.append) as fetcher:
        answer = fetcher.get(f"{own.url}/busy")
    assert len(own.asked) == 3
    assert [pause for pause in pauses if pause > 1] == [7, 7]
    assert "503" in answer.problem


def test_no_more_requests_are_sent_than_the_rate_allows(servers: tuple[Server, Server]) -> None:
    own, _ = servers
    pauses: list[float] = []
    with Fetcher(own.url, politeness=Politeness(rate=0.01), sleep=pauses.append) as fetcher:
        for _ in range(4):
            fetcher.get(f"{own.url}/page")
    assert pauses == pytest.approx([100, 200, 300], abs=30)


class Dripping(socketserver.StreamRequestHandler):
    """Sends a byte now and then, and never all of them."""

    asked: ClassVar[list[bytes]] = []

    def handle(self) -> None:
        self.asked.append(self.rfile.readline())
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                self.wfile.write(b"x")
                time.sleep(0.02)


def test_a_server_that_is_too_slow_again_and_again_is_asked_no_more() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        with Fetcher(url, politeness=AT_ONCE, seconds=0.1, sleep=time.sleep) as fetcher:
            problems = [fetcher.get(url).problem for _ in range(MAX_LATE + 3)]
        server.shutdown()
    assert all("took longer than" in problem for problem in problems[:MAX_LATE])
    assert problems[MAX_LATE:] == ["not requested, as 8 answers took too long"] * 3
    assert len(Dripping.asked) == MAX_LATE


def test_nobody_at_home_is_said() -> None:
    with pytest.raises(NetworkError, check=coded("index-unreachable")) as caught:
        check_url("http://user:word@127.0.0.1:9/", sleep=lambda _seconds: None)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize("href", ["http://[", "http://127.0.0.1:x/", "//", "javascript:1", "data:,x", "\x00", "?" * 9])
def test_a_link_that_is_no_url_is_no_crash(href: str, serve: Serve) -> None:
    page = detail(f"<base href='{href}'><a href='{href}' data-core-metadata=true>demo-1.0.tar.gz</a>")
    assert {*numbers(check(serve(page)))} & {"503.6", "503.9"}


FILE = f"/files/{WHEEL}"


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(retries=Retries(lambda _seconds: None)) as web:
        yield web


def told(web: Web, server: Server, file: str | None = FILE) -> list[tuple[str, str, str]]:
    observations = observe(web, f"{server.url}{PAGE}", file and f"{server.url}{file}")
    return [(it.topic, it.url.removeprefix(server.url), it.message) for it in observations]


def test_a_host_that_says_nothing(serve: Serve, web: Web) -> None:
    server = serve(listening=True)
    size = len(server.json[PAGE].content)
    vary = "gives JSON or HTML as it is asked, and does not say Vary: Accept: a cache may give one for the other"
    kept = "none: how long it is kept is left to clients; is sent whole every time"
    assert told(web, server) == [
        ("vary", PAGE, vary),
        ("cache-control", PAGE, kept),
        ("compression", PAGE, f"none: {size} bytes are sent as they are"),
        ("ranges", FILE, "gives a span of bytes"),
        ("cache-control", FILE, kept),
        ("head", FILE, "answers 200 OK"),
    ]


def test_a_host_that_does_all_of_it(serve: Serve, web: Web) -> None:
    server = serve(listening=True)
    said = {"Vary": "Accept-Encoding, accept", "Cache-Control": "max-age=600", "ETag": '"1"', "Last-Modified": "today"}
    for pages in (server.html, server.json):
        pages[PAGE].headers.update(said)
    assert told(web, server, None)[:2] == [
        ("vary", PAGE, "gives JSON or HTML as it is asked, and says Vary: Accept"),
        ("cache-control", PAGE, "max-age=600; is asked for again by ETag or Last-Modified"),
    ]


def test_a_host_of_one_form_that_packs_and_gives_no_spans(serve: Serve, web: Web) -> None:
    server = serve(lambda index: setattr(index, "forms", ("html",)), listening=True)
    server.html[PAGE].headers["Content-Encoding"] = "identity"
    server.ranges = False
    messages = {topic: message for topic, _, message in told(web, server)}
    assert messages["vary"] == "gives text/html whatever is asked for"
    assert messages["compression"] == "identity"
    assert messages["ranges"] == "gives the whole file where a span is asked for"


def test_what_is_not_there_is_not_told_of(serve: Serve, web: Web) -> None:
    server = serve(listening=True)
    server.html.clear()
    server.json.clear()
    assert told(web, server) == []
    assert list(observe(web, "http://127.0.0.1:9/", "http://127.0.0.1:9/x.whl")) == []


def test_credentials_are_not_told(serve: Serve, web: Web) -> None:
    server = serve(listening=True)
    address = server.url.replace("//", "//user:word@")
    observations = list(observe(web, f"{address}{PAGE}", f"{address}{FILE}"))
    assert observations
    assert "word" not in str(observations)
