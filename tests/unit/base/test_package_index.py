import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from wheelmill import package_index
from wheelmill.errors import IntegrityError
from wheelmill.names import Sha256, project_name
from wheelmill.package_index import PackageIndexError, cached_sdist, configured_index, sdists_of

DEMO = project_name("demo")
SDIST = b"a source distribution"
SHA256 = Sha256(hashlib.sha256(SDIST).hexdigest())
JSON = "application/vnd.pypi.simple.v1+json"
PAGES = {
    "/simple/demo/": (
        "text/html",
        b"""<!DOCTYPE html><html><body>
        <a href="../../files/demo-1.0.tar.gz">demo-1.0.tar.gz</a>
        <a href="../../files/demo-0.9.tar.gz" data-yanked="broken">demo-0.9.tar.gz</a>
        <a href="../../files/demo-1.1.tar.gz">demo-1.1.tar.gz</a>
        <a href="../../files/demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>
        </body></html>""",
    ),
    "/files/demo-1.0.tar.gz": ("application/gzip", SDIST),
    "/simple/odd/": ("text/plain", b"no index at all"),
    "/simple/broken/": (JSON, b"{"),
    "/simple/empty/": (JSON, b"{}"),
    "/simple/newer/": (JSON, b'{"meta": {"api-version": "2.0"}, "name": "newer", "files": []}'),
    "/simple/unversioned/": (JSON, b'{"meta": {"api-version": "x"}, "name": "unversioned", "files": []}'),
    "/simple/nowhere/": ("text/html", b'<a href="http://[/x-1.0.tar.gz">x-1.0.tar.gz</a>'),
}


class Index(BaseHTTPRequestHandler):
    """A package index with one project; a path with ``down`` in it is out of order."""

    def do_GET(self) -> None:
        kind, content = PAGES.get(self.path, ("text/plain", b""))
        self.send_response(500 if "down" in self.path else 200 if self.path in PAGES else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine is set to no index but the one that a test sets."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    configured_index.cache_clear()
    yield
    configured_index.cache_clear()


@pytest.fixture
def index(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{address}/simple/")
    return f"http://{address}/simple/"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("index")
def test_source_distributions_are_listed_without_yanked_ones() -> None:
    assert [file.filename for file in sdists_of(DEMO)] == ["demo-1.0.tar.gz", "demo-1.1.tar.gz"]


@pytest.mark.usefixtures("index")
def test_a_source_distribution_with_the_right_hash_is_kept(cache: Path) -> None:
    kept = cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256)

    assert kept.read_bytes() == SDIST
    assert files_in(cache) == [kept]


@pytest.mark.usefixtures("index", "cache")
def test_what_is_kept_is_not_downloaded_again_unless_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256)
    kept.write_bytes(b"changed")
    assert cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256).read_bytes() == SDIST
    monkeypatch.delattr(package_index, "index_client")
    assert cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256) == kept


@pytest.mark.usefixtures("index", "cache")
def test_two_who_want_the_same_file_do_not_meet() -> None:
    with ThreadPoolExecutor(4) as pool:
        kept = set(pool.map(lambda _: cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256).read_bytes(), range(20)))
    assert kept == {SDIST}


@pytest.mark.usefixtures("index")
def test_one_with_another_hash_is_not_kept(cache: Path) -> None:
    with pytest.raises(IntegrityError, match=SHA256):
        cached_sdist(DEMO, "demo-1.0.tar.gz", Sha256("0" * 64))

    assert files_in(cache) == []


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("filename", ["demo-2.0.tar.gz", "demo-1.1.tar.gz"], ids=["not listed", "listed and gone"])
def test_a_file_that_the_index_lacks_is_an_error(filename: str, cache: Path) -> None:
    with pytest.raises(PackageIndexError):
        cached_sdist(DEMO, filename, SHA256)

    assert files_in(cache) == []


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("project", "message"),
    [
        ("missing", "has no project missing"),
        ("down", "does not answer: 500"),
        ("odd", "answers with no page of odd: .*text/plain"),
        ("broken", "does not answer: .*column"),
        ("empty", "answers with no page of empty: "),
        ("newer", "answers with no page of newer: .*2.0"),
        ("unversioned", "answers with no page of unversioned: Invalid version"),
        ("nowhere", "answers with no page of nowhere: Invalid IPv6 URL"),
    ],
)
def test_an_index_without_an_answer_is_an_error(project: str, message: str) -> None:
    with pytest.raises(PackageIndexError, match=message):
        sdists_of(project_name(project))


def test_an_index_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")

    with pytest.raises(PackageIndexError, match="does not answer"):
        sdists_of(DEMO)


@pytest.mark.parametrize("project", ["missing", "down"])
def test_an_error_keeps_the_password_of_the_index(project: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:secret@{address}/simple/")

    with pytest.raises(PackageIndexError) as caught:
        sdists_of(project_name(project))

    assert "secret" not in str(caught.value)


def test_the_index_of_uv_comes_before_that_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example.org/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.example.org/simple")

    assert configured_index() == "https://uv.example.org/simple"


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ("", None),
        ("[global]\nindex-url = https://a.example.org/simple\n", "https://a.example.org/simple"),
        ("[install]\nindex-url = https://b.example.org/?a=1&b='2'\n", "https://b.example.org/?a=1&b='2'"),
        ("[global]\nindex-url = https://a.org/\n[install]\nindex-url = https://b.org/\n", "https://b.org/"),
        ("[global]\ntimeout = 5\nextra-index-url = https://a.org/\n", None),
    ],
    ids=["nothing", "global", "install", "install before global", "something else"],
)
def test_the_index_of_pip_stands_in_its_settings(
    settings: str, url: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").write_text(settings)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))

    assert configured_index() == url
