"""Source distributions are downloaded once and kept under their hash; of wheels, see the tests of mirrors."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.page_server import Answer, PageServer, links_page
from tests.refusals import coded
from wheelmill.errors import IntegrityError, NetworkError
from wheelmill.installers.environments import cached_sdist
from wheelmill.names import Sha256, project_name

DEMO = project_name("demo")
SDIST = b"a source distribution"
SHA256 = Sha256(hashlib.sha256(SDIST).hexdigest())


@pytest.fixture(autouse=True)
def index(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> PageServer:
    """An index that this machine is set to, with one project; it lists a file more than it has."""
    server.pages["/simple/demo/"] = Answer(links_page("demo-1.0.tar.gz", "demo-1.1.tar.gz", sha256=None))
    server.pages["/simple/demo/demo-1.0.tar.gz"] = Answer(SDIST)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return server


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_source_distribution_with_the_right_hash_is_kept(cache: Path) -> None:
    kept = cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256)
    assert kept.read_bytes() == SDIST
    assert files_in(cache) == [kept]


def test_what_is_kept_is_downloaded_again_only_when_it_changed(index: PageServer) -> None:
    kept = cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256)
    kept.write_bytes(b"changed")
    assert cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256).read_bytes() == SDIST
    index.asked.clear()
    assert cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256) == kept
    assert index.asked == []


def test_those_who_want_the_same_file_do_not_meet(cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        kept = set(pool.map(lambda _: cached_sdist(DEMO, "demo-1.0.tar.gz", SHA256).read_bytes(), range(20)))
    assert kept == {SDIST}
    assert len(files_in(cache)) == 1


def test_one_with_another_hash_is_not_kept(cache: Path) -> None:
    with pytest.raises(IntegrityError, check=coded("hash-differs", "demo-1.0.tar.gz", "0000", SHA256)):
        cached_sdist(DEMO, "demo-1.0.tar.gz", Sha256("0" * 64))
    assert files_in(cache) == []


@pytest.mark.parametrize("filename", ["demo-2.0.tar.gz", "demo-1.1.tar.gz"], ids=["not listed", "listed and gone"])
def test_a_file_that_the_index_lacks_is_an_error(filename: str, cache: Path) -> None:
    with pytest.raises(NetworkError):
        cached_sdist(DEMO, filename, SHA256)
    assert files_in(cache) == []
