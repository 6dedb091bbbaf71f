from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from tests.refusals import coded
from wheelmill.client.install.wheel_cache import WantedWheel, WheelCache
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.names import Sha256
from wheelmill.system.progress import Progress
from wheelmill.web.client import ATTENDED, Web

CONTENT = b"wheel"
HASH = Sha256(sha256(CONTENT).hexdigest())
NAME = "demo-1.0-py3-none-any.whl"


class Served(httpx.BaseTransport):
    """Gives one content and counts how often it was asked."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.asked = 0

    def handle_request(self, _request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return httpx.Response(200, content=self.content)


def cache_in(folder: Path, served: Served, *, offline: bool = False) -> WheelCache:
    web = Web(retries=ATTENDED, mounts={"all://x.example": served})
    return WheelCache(directory=folder, web=web, threads=ThreadPoolExecutor(1), offline=offline)


def wanted(promised: Sha256 | None = HASH, filename: str = NAME) -> WantedWheel:
    return WantedWheel(filename=filename, url="https://x.example/w", sha256=promised, size=None)


@pytest.mark.parametrize("promised", [HASH, None])
def test_a_wheel_is_downloaded_once(tmp_path: Path, promised: Sha256 | None) -> None:
    served = Served()
    cache = cache_in(tmp_path, served)
    first, second = (cache.fetch(wanted(promised), Progress()) for _ in range(2))
    assert first == second
    assert (first.sha256, first.path.read_bytes(), served.asked) == (HASH, CONTENT, 1)


def test_other_bytes_are_not_kept(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, Served(b"other"))
    with pytest.raises(IntegrityError, check=coded("hash-differs")):
        cache.fetch(wanted(), Progress())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_byte_that_changed_on_disk_is_found(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, Served())
    cache.fetch(wanted(), Progress()).path.write_bytes(b"weel!")
    with pytest.raises(IntegrityError, check=coded("cached-file-changed")):
        cache.fetch(wanted(), Progress())
    assert cache.fetch(wanted(), Progress()).path.read_bytes() == CONTENT


def test_offline_takes_what_is_there(tmp_path: Path) -> None:
    offline = cache_in(tmp_path, Served(), offline=True)
    with pytest.raises(UsageError, check=coded("not-cached")):
        offline.fetch(wanted(), Progress())
    cache_in(tmp_path, Served()).fetch(wanted(), Progress())
    assert offline.fetch(wanted(), Progress()).sha256 == HASH


@pytest.mark.parametrize("filename", ["../x-1-py3-none-any.whl", "demo.zip", "a\\b-1.0-py3-none-any.whl"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, filename: str) -> None:
    cache = cache_in(tmp_path / "cache", Served())
    with pytest.raises(IntegrityError):
        cache.fetch(wanted(filename=filename), Progress())
    assert not (tmp_path / "cache").exists()
