"""A wheel is read by ranges of its bytes; a server that gives other bytes than those is found out."""

import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.refusals import coded
from tests.simple_server import Answer, Server, serving
from tests.wheels import write_wheel
from wheelmill.errors import NetworkError
from wheelmill.web import ranges
from wheelmill.web.client import ATTENDED, Web
from wheelmill.web.ranges import RangeFile

CONTENT = bytes(range(256)) * 4000
URL = "http://files.test/demo.whl"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as server:
        yield server


def answering(change: Callable[[httpx.Request, httpx.Response], httpx.Response]) -> Web:
    """A server of `CONTENT` whose right answers are changed."""

    def answer(request: httpx.Request) -> httpx.Response:
        span = request.headers["Range"].removeprefix("bytes=")
        first, _, last = span.partition("-")
        start, end = (int(first), int(last)) if first else (len(CONTENT) - int(last), len(CONTENT) - 1)
        headers = {"Content-Range": f"bytes {start}-{end}/{len(CONTENT)}", "ETag": '"1"'}
        return change(request, httpx.Response(206, headers=headers, content=CONTENT[start : end + 1]))

    return Web(retries=ATTENDED, mounts={"all://": httpx.MockTransport(answer)})


def unchanged(_request: httpx.Request, answer: httpx.Response) -> httpx.Response:
    return answer


def test_a_wheel_of_megabytes_is_read_in_few_requests(server: Server, tmp_path: Path) -> None:
    noise = bytes(range(256)) * 10_000
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={f"demo/{n}.so": noise for n in range(3)})
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("demo/stored", noise, zipfile.ZIP_STORED)
    server.html["/wheel"] = Answer(wheel.read_bytes())
    for size in (None, wheel.stat().st_size):
        server.asked.clear()
        with Web(retries=ATTENDED) as web, zipfile.ZipFile(RangeFile(web, f"{server.url}/wheel", size=size)) as archive:
            assert b"Name: demo" in archive.read("demo-1.0.dist-info/METADATA")
        assert len(server.asked) <= 2
        assert all("Range" in headers for _, headers in server.asked)


def test_reads_give_what_was_asked_for_wherever_it_lies() -> None:
    with answering(unchanged) as web:
        file = RangeFile(web, URL, piece=1000)
        for start, count in [(0, 10), (5, 3000), (len(CONTENT) - 3, 10), (500_000, 1), (499_999, 70_000), (0, 0)]:
            assert file.seek(start) == start
            assert file.read(count) == CONTENT[start : start + count]
        assert file.seek(-5, 2) == len(CONTENT) - 5
        assert file.read() == CONTENT[-5:]


def test_a_file_that_changes_while_it_is_read_is_refused() -> None:
    validators = []

    def changed(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        validators.append(request.headers.get("If-Range"))
        return httpx.Response(200, content=CONTENT) if validators[1:] else answer

    with answering(changed) as web:
        file = RangeFile(web, URL)
        with pytest.raises(NetworkError, check=coded("ranges-unusable")):
            file.read(1)
    assert validators == [None, '"1"']


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_a_small_file_of_a_server_without_ranges_is_read_whole(size: int | None) -> None:
    asked = []

    def whole(request: httpx.Request) -> httpx.Response:
        asked.append("Range" in request.headers)
        return httpx.Response(200, content=CONTENT)

    with Web(retries=ATTENDED, mounts={"all://": httpx.MockTransport(whole)}) as web:
        file = RangeFile(web, URL, size=size)
        assert (file.seek(5), file.read(3)) == (5, CONTENT[5:8])
        assert (file.seek(-5, 2), file.read()) == (len(CONTENT) - 5, CONTENT[-5:])
    assert asked == [True, False]


def other_range(text: str) -> Callable[[httpx.Request, httpx.Response], httpx.Response]:
    def change(_request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        answer.headers["Content-Range"] = text
        return answer

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda _request, _answer: httpx.Response(200, content=iter([CONTENT])), "ranges-unusable"),
        (lambda _request, _answer: httpx.Response(200, content=CONTENT * 5), "ranges-unusable"),
        (lambda _request, _answer: httpx.Response(200, headers={"Content-Length": "9" * 5000}), "ranges-unusable"),
        (lambda _request, _answer: httpx.Response(404), "status"),
        (other_range(""), "range-unreadable"),
        (other_range(f"bytes 0-9/{'9' * 5000}"), "range-unreadable"),
        (other_range(f"bytes 0-65534/{len(CONTENT)}"), "range-unreadable"),
        (other_range(f"bytes 0-65535/{len(CONTENT)}"), "range-differs"),
    ],
)
def test_other_bytes_are_refused(change: Callable[[httpx.Request, httpx.Response], httpx.Response], code: str) -> None:
    with answering(change) as web, pytest.raises(NetworkError, check=coded(code)):
        RangeFile(web, URL)


def test_another_range_than_the_one_asked_for_is_refused() -> None:
    with answering(other_range(f"bytes 1-65536/{len(CONTENT)}")) as web:
        file = RangeFile(web, URL, size=len(CONTENT))
        with pytest.raises(NetworkError, check=coded("range-differs")):
            file.read(1)


def test_no_more_is_read_than_the_budget() -> None:
    with answering(unchanged) as web:
        file = RangeFile(web, URL, size=len(CONTENT), budget=200_000)
        with pytest.raises(NetworkError, check=coded("members-too-large")):
            file.read()


def test_a_server_that_is_slow_again_and_again_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    file = RangeFile(answering(unchanged), URL)
    file.seek(0)
    assert file.read(3) == CONTENT[:3]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + ranges.SECONDS + 1)
    file.seek(200_000)
    with pytest.raises(NetworkError, check=coded("range-too-slow", "1800")):
        file.read(3)
