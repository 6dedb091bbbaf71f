"""What is told of a host that no rule asks for."""

from collections.abc import Iterator

import pytest

from tests.good_index import PAGE, WHEEL
from tests.simple_server import Server
from tests.unit.conformance.conftest import Serve
from wheelmill.conformance.host import observe
from wheelmill.web.client import Web
from wheelmill.web.transport import Retries

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
