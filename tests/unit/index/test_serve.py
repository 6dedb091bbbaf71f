"""Serving a folder to real clients. Which form of a page a client gets, by the rules of every host."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path
from select import select
from socket import socket
from urllib.parse import urlsplit

import pytest

from tests.hosts import HTML, JSON, PIP, TEXT, WANTED, ask
from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.index.serve import project_lists_below, serve_folder, wanted_type

NAME = "demo-1.0+cu130-py3-none-any.whl"


def touch(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a folder with a wheel and a page, in a folder with a secret."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret").write_bytes(b"outside")
    touch(folder, "site/simple/index.html")
    (folder / "site" / "simple" / "index.html").write_bytes(b"the list")
    (folder / "site" / NAME).write_bytes(b"the wheel")
    (folder / "site" / "link").symlink_to(folder / "secret")
    (folder / "site" / "folder").symlink_to(folder)
    (folder / "site" / "inside.whl").symlink_to(NAME)
    os.utime(folder / "site" / NAME, (0, 1_000_000_000))
    with serve_folder(folder / "site") as url:
        yield url


def get(url: str, path: str, *, host: str = "127.0.0.1", span: str = "") -> tuple[int, bytes]:
    """Ask for a path as it is written."""
    connection = HTTPConnection(host, urlsplit(url).port, timeout=10)
    try:
        connection.request("GET", path, headers={"Range": span} if span else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/inside.whl", b"the wheel"),
        (f"/{NAME}", b"the wheel"),
        (f"/{NAME.replace('+', '%2B')}", b"the wheel"),
        ("/simple/", b"the list"),
    ],
)
def test_files_are_served(path: str, content: bytes, url: str) -> None:
    assert get(url, path) == (200, content)


@pytest.mark.parametrize(
    "path", ["/gone.whl", "/link", "/folder/secret", "/../secret", "/%2e%2e/secret", "/simple/../../secret"]
)
def test_nothing_else_is_served(path: str, url: str) -> None:
    assert get(url, path)[0] == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.1", 200), ("evil.example", 421), ("[", 421), ("127.0.0.1.evil.example", 421)],
)
def test_another_host_s_name_is_not_answered(host: str, status: int, url: str) -> None:
    connection = HTTPConnection("127.0.0.1", urlsplit(url).port, timeout=10)
    connection.request("GET", "/simple/", headers={"Host": host})
    assert connection.getresponse().status == status
    connection.close()


@pytest.mark.parametrize("negotiate", [False, True])
@pytest.mark.parametrize("name", ["%00", "a" * 300])
def test_no_such_name_is_404(name: str, *, negotiate: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serve_folder(tmp_path, negotiate=negotiate) as url:
        answers = [get(url, path, span=span) for path in (f"/{name}", f"/simple/{name}/") for span in ("", "bytes=0-1")]
    assert [status for status, _ in answers] == [404] * 4
    assert capfd.readouterr() == ("", "")


def test_an_installer_may_open_fifty_connections_at_once(url: str) -> None:
    """One that found no room would try again after a second."""
    address = ("127.0.0.1", urlsplit(url).port)
    with ExitStack() as stack:
        waiting = [stack.enter_context(socket()) for _ in range(50)]
        for each in waiting:
            each.settimeout(0)
            each.connect_ex(address)
        assert all(select([], [each], [], 0.5)[1] for each in waiting)


def test_a_project_called_simple_is_no_project_list(tmp_path: Path) -> None:
    """Its pages in an index, and those for people, lie in folders of that name, too."""
    lists = ("simple", "cu130/simple")
    folders = (*lists, *(f"{each}/simple" for each in lists), "packages/simple")
    touch(tmp_path, *(f"{folder}/index.html" for folder in folders))
    assert project_lists_below(tmp_path) == sorted(tmp_path / each for each in (*lists, "packages/simple"))
    (tmp_path / "wheels.json").touch()
    assert project_lists_below(tmp_path) == sorted(tmp_path / each for each in lists)
    assert project_lists_below(tmp_path / "cu130") == [tmp_path / "cu130" / "simple"]


def test_a_site_called_simple_has_the_lists_of_any_other(tmp_path: Path) -> None:
    lists = [tmp_path / "simple" / path for path in ("cu130/simple", "simple")]
    touch(tmp_path, "simple/simple/index.html")
    assert project_lists_below(tmp_path) == lists[1:]
    touch(tmp_path, "simple/index.html", "simple/wheels.json", "simple/cu130/simple/index.html")
    assert project_lists_below(tmp_path) == project_lists_below(tmp_path / "simple") == lists
    touch(tmp_path, "simple/simple/simple/index.html", "simple/packages/simple/index.html")
    assert project_lists_below(tmp_path) == project_lists_below(tmp_path / "simple") == lists


def test_a_project_list_is_a_folder_whatever_it_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "simple/index.html", "simple/demo/index.html", "simple/simple/index.html")
    assert project_lists_below(tmp_path / "simple") == [tmp_path / "simple"]
    monkeypatch.chdir(tmp_path / "simple")
    assert project_lists_below(Path()) == [Path()]


def test_nobody_else_is_served(url: str) -> None:
    with pytest.raises(ConnectionRefusedError):
        get(url, "/", host="127.0.0.2")


def test_nothing_is_said(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    get(url, "/simple/")
    get(url, "/gone.whl")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_said_of_clients_that_hang_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "large").write_bytes(bytes(32 << 20))
    with serve_folder(tmp_path) as url:
        connection = HTTPConnection("127.0.0.1", urlsplit(url).port, timeout=10)
        connection.request("GET", "/large")
        connection.getresponse().read(1)
        connection.close()
        get(url, "/")
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with serve_folder(tmp_path) as url, pytest.raises(UsageError, check=coded("port-unusable", urlsplit(url).port)):
        serve_folder(tmp_path, urlsplit(url).port or 0).__enter__()


def test_serving_ends_with_the_context(tmp_path: Path) -> None:
    with serve_folder(tmp_path) as url:
        assert get(url, "/")[0] == 200
    with pytest.raises(ConnectionError):  # refused, or reset where another test listens there by now
        get(url, "/")


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-2", 206, b"the"),
        ("bytes=4-", 206, b"wheel"),
        ("bytes=-5", 206, b"wheel"),
        ("bytes=-100", 206, b"the wheel"),
        ("bytes=8-100", 206, b"l"),
        ("bytes=9-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=5-2", 200, b"the wheel"),
        ("bytes=-", 200, b"the wheel"),
        ("bytes=0-1,3-4", 200, b"the wheel"),
        (f"bytes={'9' * 5000}-", 200, b"the wheel"),
        ("lines=1-2", 200, b"the wheel"),
    ],
)
def test_one_span_of_a_file_is_served(asked: str, status: int, content: bytes, url: str) -> None:
    answer = ask(f"{url}{NAME}", Range=asked)
    assert (answer.status, answer.content) == (status, content)
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Length"] == str(len(content))


def test_a_file_that_may_change_again_in_its_second_has_no_time(tmp_path: Path) -> None:
    (tmp_path / NAME).touch()
    with serve_folder(tmp_path) as url:
        os.utime(tmp_path / NAME, (0, 1_000_000_000))
        assert ask(f"{url}{NAME}").headers["Last-Modified"] == "Sun, 09 Sep 2001 01:46:40 GMT"
        (tmp_path / NAME).touch()
        changed = datetime.fromtimestamp(int((tmp_path / NAME).stat().st_mtime), UTC)
        answer = ask(f"{url}{NAME}")
        is_past = changed < parsedate_to_datetime(answer.headers["Date"])
        assert ("Last-Modified" in answer.headers) == is_past


def test_a_span_of_a_file_that_changed_is_not_served(url: str) -> None:
    now = ask(f"{url}{NAME}").headers["Last-Modified"]
    assert ask(f"{url}{NAME}", Range="bytes=0-2", If_Range=now).content == b"the"
    before = "Sat, 21 Nov 2020 12:00:00 GMT"
    assert ask(f"{url}{NAME}", Range="bytes=0-2", If_Range=before).content == b"the wheel"


@pytest.mark.parametrize(("negotiate", "expected"), [(True, JSON), (False, TEXT)])
def test_pages_are_json_on_request_if_the_host_negotiates(*, negotiate: bool, expected: str, tmp_path: Path) -> None:
    touch(tmp_path, "simple/index.html", "simple/index.json")
    with serve_folder(tmp_path, negotiate=negotiate) as url:
        answer = ask(f"{url}simple/", Accept=PIP)
        assert (answer.status, answer.headers["Content-Type"]) == (200, expected)
        assert ask(f"{url}simple/", Accept="image/png").status == (406 if negotiate else 200)
        assert ask(f"{url}simple/v1+json/").status == (302 if negotiate else 404)


def test_a_request_line_that_cannot_be_read_is_answered(tmp_path: Path) -> None:
    with serve_folder(tmp_path, negotiate=True) as url:
        assert get(url, f"/{'a' * 70_000}")[0] == 414


def test_a_list_without_json_is_html_to_all(tmp_path: Path) -> None:
    touch(tmp_path, "simple/index.html")
    with serve_folder(tmp_path, negotiate=True) as url:
        assert ask(f"{url}simple/", Accept=PIP).headers["Content-Type"] == TEXT


@pytest.mark.parametrize(("accept", "expected"), WANTED)
def test_clients_get_the_form_that_they_want(accept: str | None, expected: str | None) -> None:
    assert wanted_type(accept) == expected


@pytest.mark.parametrize("accept", ["", ";", ",,,", f"{JSON};q=many", f"{JSON};q=", f"{JSON};q=9", ";q=1," * 10_000])
def test_what_cannot_be_read_is_answered_too(accept: str) -> None:
    assert wanted_type(accept) in (TEXT, JSON, HTML, None)
