"""The door to the network, and many servers at once."""

import gzip
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, Timer

import httpx
import pytest

from tests.page_server import Answer, PageServer, in_pieces
from tests.refusals import coded
from wheelmill.errors import IntegrityError, NetworkError, UsageError
from wheelmill.web.client import ATTENDED, Web
from wheelmill.web.concurrency import begin, completed, in_turn
from wheelmill.web.credentials import authorization_for
from wheelmill.web.transport import Retries


def get(url: str) -> bytes:
    with Web(retries=ATTENDED) as web:
        return web.get(url).content


def redirect(to: str) -> Answer:
    return Answer(status=302, headers={"Location": to})


@pytest.fixture
def host_token(server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token for the server under the name localhost; it answers to 127.0.0.1, too."""
    path = tmp_path / "credentials.toml"
    path.write_text(f'["{named(server)}"]\ntoken = "secret"\n')
    path.chmod(0o600)
    monkeypatch.setenv("WHEELMILL_CREDENTIALS", str(path))


def named(server: PageServer) -> str:
    return server.url.replace("127.0.0.1", "localhost")


@pytest.mark.usefixtures("host_token")
def test_a_token_is_for_the_host_that_it_names(server: PageServer) -> None:
    server.pages["/"] = Answer(b"hello")
    assert get(f"{named(server)}/") == b"hello"
    assert get(f"{server.url}/") == b"hello"
    assert server.authorizations == ["Bearer secret", None]


@pytest.mark.usefixtures("host_token")
def test_a_token_does_not_follow_a_redirect_to_another_server(server: PageServer, other_server: PageServer) -> None:
    server.pages["/"] = redirect(f"{other_server.url}/")
    server.pages["/port"] = redirect(f"{named(other_server)}/")  # of the same name, and still another server
    other_server.pages["/"] = Answer(b"there")
    assert get(f"{named(server)}/") == b"there"
    assert get(f"{named(server)}/port") == b"there"
    assert server.authorizations == ["Bearer secret", "Bearer secret"]
    assert other_server.authorizations == [None, None]


@pytest.mark.usefixtures("host_token")
def test_a_token_follows_a_redirect_on_its_own_server(server: PageServer) -> None:
    server.pages |= {"/old": redirect("/new"), "/new": Answer(b"moved")}
    assert get(f"{named(server)}/old") == b"moved"
    assert server.authorizations == ["Bearer secret", "Bearer secret"]


@pytest.mark.usefixtures("host_token")
@pytest.mark.parametrize("begin", ["{other}/", "{own}/there"])
def test_a_redirect_does_not_fetch_other_credentials(begin: str, server: PageServer, other_server: PageServer) -> None:
    server.pages |= {"/there": redirect(f"{other_server.url}/"), "/private": Answer(b"private")}
    other_server.pages["/"] = redirect(f"{named(server)}/private")
    get(begin.format(own=named(server), other=other_server.url))
    assert other_server.authorizations == [None]
    assert server.asked[-1][0] == "/private"
    assert server.authorizations[-1] is None


def test_githubs_token_is_for_its_api_only(
    server: PageServer, other_server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "github")
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    for each in (server, other_server):
        each.pages["/"] = Answer()
        get(f"{each.url}/")
    assert server.authorizations == ["Bearer github"]
    assert other_server.authorizations == [None]


def test_a_password_in_the_url_is_sent_and_never_shown(server: PageServer) -> None:
    url = server.url.replace("//", "//me:pass%40word@")
    server.pages["/"] = Answer(status=302, headers={"Location": "http://127.0.0.1:1/"})
    with pytest.raises(NetworkError) as raised:
        get(f"{url}/")
    assert server.authorizations == [authorization_for(url)]
    assert "pass" not in str(raised.value)


def test_redirects_end(server: PageServer) -> None:
    server.pages["/"] = redirect("/")
    with pytest.raises(NetworkError, check=coded("too-many-redirects", "10")):
        get(f"{server.url}/")


class Played(httpx.BaseTransport):
    """Answers in the place of servers, one after the other."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self.answers.pop(0)


def test_a_redirect_from_https_to_http_is_not_followed() -> None:
    played = Played(httpx.Response(302, headers={"Location": "http://there/"}))
    with (
        Web(retries=ATTENDED, mounts={"all://": played}) as web,
        pytest.raises(NetworkError, check=coded("redirect-refused", "https", "http://there/")),
    ):
        web.get("https://here/")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "http://[", "ftp://x/"])
def test_a_redirect_leads_to_servers_only(server: PageServer, place: str) -> None:
    server.pages["/"] = redirect(place)
    with pytest.raises(NetworkError):
        get(f"{server.url}/")


def test_a_busy_server_is_asked_again_when_it_says(server: PageServer) -> None:
    server.pages["/"] = Answer(b"", 503, {"Retry-After": "7"})
    pauses: list[float] = []
    refused = coded("server-silent", "503", "3 times")
    with Web(retries=Retries(pauses.append)) as web, pytest.raises(NetworkError, check=refused):
        web.get(f"{server.url}/")
    assert (pauses, len(server.asked)) == ([7, 7], 3)


def test_a_server_that_wants_a_long_pause_is_left_alone(server: PageServer) -> None:
    server.pages["/"] = Answer(b"", 429, {"Retry-After": "61"})
    with Web(retries=ATTENDED) as web, pytest.raises(NetworkError, check=coded("server-busy", "429", "61")):
        web.get(f"{server.url}/")


def test_an_answer_that_breaks_off_is_asked_for_again(tmp_path: Path) -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield bytes(2 << 20)
            raise httpx.RemoteProtocolError("peer closed connection")

    played = Played(httpx.Response(200, stream=Broken()), httpx.Response(200, content=b"whole"))
    path = tmp_path / "file"
    seen: list[int] = []
    with Web(mounts={"all://": played}, retries=Retries(lambda _: None)) as web, path.open("wb") as file:
        download = web.download("https://here/", file, received=seen.append)
    assert (path.read_bytes(), download.size, seen) == (b"whole", 5, [1 << 20, 2 << 20, 5])
    assert download.sha256 == hashlib.sha256(b"whole").hexdigest()


def test_an_error_page_is_no_file(server: PageServer, tmp_path: Path) -> None:
    with (
        Web(retries=ATTENDED) as web,
        (tmp_path / "file").open("wb") as file,
        pytest.raises(NetworkError, check=coded("status", "/gone: 404")),
    ):
        web.download(f"{server.url}/gone", file)
    assert (tmp_path / "file").read_bytes() == b""


def test_more_bytes_than_were_promised_are_not_taken(server: PageServer, tmp_path: Path) -> None:
    server.pages["/"] = Answer(b"12345")
    with (
        Web(retries=ATTENDED) as web,
        (tmp_path / "file").open("wb") as file,
        pytest.raises(IntegrityError, check=coded("size-exceeded", "4")),
    ):
        web.download(f"{server.url}/", file, promised=4)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, bytes(2000)),
        ({"Content-Encoding": "gzip"}, gzip.compress(bytes(2000), mtime=0)),
        ({"Content-Encoding": "deflate"}, zlib.compress(bytes(2000))),
    ],
    ids=["plain", "gzip", "deflate"],
)
def test_an_answer_has_a_limit_of_bytes_packed_or_not(server: PageServer, headers: dict[str, str], body: bytes) -> None:
    server.pages["/"] = Answer(body, headers=headers)
    with Web(retries=ATTENDED) as web:
        assert web.get(f"{server.url}/", limit=2000).content == bytes(2000)
        with pytest.raises(NetworkError, check=coded("answer-too-large", "1999", server.url)):
            web.get(f"{server.url}/", limit=1999)


def test_packed_in_packed_is_refused(server: PageServer) -> None:
    server.pages["/"] = Answer(gzip.compress(gzip.compress(b"x")), headers={"Content-Encoding": "gzip, gzip"})
    with pytest.raises(NetworkError, check=coded("encoding-unasked", "gzip, gzip")):
        get(f"{server.url}/")


@pytest.mark.parametrize(
    "first",
    [b"", b"X-Slow: ", b"\r\n", b"Transfer-Encoding: chunked\r\n\r\n1;"],
    ids=["name of a header", "header", "content", "chunk"],
)
def test_a_server_that_drips_is_left_after_the_limit_of_time(first: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + first)
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.02)

        thread = Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with (
            Web(retries=ATTENDED, seconds=0.3) as web,
            pytest.raises(NetworkError, check=coded("server-slow", "0", url)),
        ):
            web.get(url)
        thread.join()


def test_a_page_that_unpacks_to_megabytes_buys_no_time() -> None:
    packed = gzip.compress(bytes(4 << 20), 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
                for start in range(0, len(packed), 256):
                    connection.sendall(packed[start : start + 256])
                    time.sleep(0.02)

        thread = Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with Web(retries=ATTENDED, seconds=0.3) as web, pytest.raises(NetworkError, check=coded("server-slow", url)):
            web.get(url)
        thread.join()


def test_a_part_that_nobody_asked_for_is_no_document(server: PageServer) -> None:
    server.pages["/"] = Answer(b"half", 206, {"Content-Range": "bytes 0-3/8"})
    with Web(retries=ATTENDED) as web, pytest.raises(NetworkError, check=coded("status", "206 Partial Content")):
        web.read(f"{server.url}/")


def test_a_span_is_asked_for_and_nothing_else_is_read(server: PageServer) -> None:
    server.pages |= {"/file": in_pieces(b"0123456789"), "/whole": Answer(b"0123456789")}
    with Web(retries=ATTENDED) as web:
        middle, end, whole = (
            web.get(f"{server.url}/{path}", span=span)
            for path, span in [("file", "2-4"), ("file", "-3"), ("whole", "0-0")]
        )
    assert [(each.status, each.content, each.size) for each in (middle, end, whole)] == [
        (206, b"234", 10),
        (206, b"789", 10),
        (200, b"", 10),
    ]


def test_an_unchanged_page_is_not_sent_again(server: PageServer) -> None:
    server.with_tag("/", b"page", '"1"')
    with Web(retries=ATTENDED) as web:
        assert [web.get(f"{server.url}/", etag=tag).status for tag in (None, '"1"', '"0"')] == [200, 304, 200]


def test_a_file_of_this_disk_is_read_as_one_of_a_server(tmp_path: Path) -> None:
    (tmp_path / "a file").write_bytes(b"here")
    with Web(retries=ATTENDED) as web, (tmp_path / "copy").open("wb") as file:
        assert web.download((tmp_path / "a file").as_uri(), file).size == 4
        with pytest.raises(NetworkError, check=coded("file-unreadable", "none: No such file")):
            web.download((tmp_path / "none").as_uri(), file)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:9"),
        ("HTTPS_PROXY", "x://y"),
        ("HTTP_PROXY", "http://me:s3cret#word@proxy.example:3128"),
        ("SSL_CERT_FILE", "/none"),
    ],
)
def test_a_proxy_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, check=coded("proxy-unusable")) as raised:
        Web(retries=ATTENDED)
    assert variable in str(raised.value.hint)
    assert "s3cret" not in str(raised.value)


def test_no_command_line_of_a_library_is_loaded() -> None:
    code = "import sys, wheelmill.web.client; sys.exit('rich' in sys.modules or 'click' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_results_come_in_order() -> None:
    assert list(in_turn(str, range(100), at_once=8)) == [str(number) for number in range(100)]
    assert list(in_turn(str, [], at_once=8)) == []


def test_work_goes_on_while_a_result_is_used_and_no_further_than_that() -> None:
    taken: list[int] = []
    begun = [Event() for _ in range(10)]

    def items() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    results = in_turn(lambda number: begun[number].set(), items(), at_once=3)
    next(results)
    assert all(event.wait(10) for event in begun[:4])
    assert taken == [0, 1, 2, 3]


def test_what_work_raises_is_raised_in_its_place() -> None:
    results = in_turn(int, ["1", "x", "3"], at_once=2)
    assert next(results) == 1
    with pytest.raises(ValueError, match="x"):
        next(results)


def test_work_comes_as_it_is_done() -> None:
    slow = Event()
    futures = begin(lambda work: work(), [slow.wait, lambda: True], threads=2)
    done = completed(futures)
    assert next(done) is futures[1]
    slow.set()
    assert list(done) == [futures[0]]
    assert list(completed([])) == []


class SignalledError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize(
    "wait", [lambda future: future.result(), lambda future: next(completed([future]))], ids=["result", "completed"]
)
def test_a_signal_that_wakes_nobody_interrupts(wait: Callable[[Future[bool]], object]) -> None:
    """It is as if it came just before the wait began: another thread than the one that waits gets it."""

    def interrupt(*_: object) -> None:
        raise SignalledError

    asleep = Event()
    (future,) = begin(asleep.wait, [60], threads=1)  # inherits no blocked signal
    before = signal.signal(signal.SIGUSR1, interrupt)
    Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1]).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        with pytest.raises(SignalledError):
            wait(future)
        assert not future.done()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR1, before)
        asleep.set()
