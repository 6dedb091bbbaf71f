"""``wheelmill cache``: what is counted and what is deleted."""

import datetime as dt
import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from tests.refusals import coded
from wheelmill.client.install.wheel_cache import WheelCache, clean_cache
from wheelmill.client.records import WantedWheel
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.names import Sha256
from wheelmill.system.folders import claim_folder
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
    first, second = (cache.fetch(wanted(promised)) for _ in range(2))
    assert first == second
    assert (first.sha256, first.path.read_bytes(), served.asked) == (HASH, CONTENT, 1)


def test_other_bytes_are_not_kept(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, Served(b"other"))
    with pytest.raises(IntegrityError, check=coded("hash-differs")):
        cache.fetch(wanted())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_byte_that_changed_on_disk_is_found(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, Served())
    cache.fetch(wanted()).path.write_bytes(b"weel!")
    with pytest.raises(IntegrityError, check=coded("cached-file-changed")):
        cache.fetch(wanted())
    assert cache.fetch(wanted()).path.read_bytes() == CONTENT


def test_offline_takes_what_is_there(tmp_path: Path) -> None:
    offline = cache_in(tmp_path, Served(), offline=True)
    with pytest.raises(UsageError, check=coded("not-cached")):
        offline.fetch(wanted())
    cache_in(tmp_path, Served()).fetch(wanted())
    assert offline.fetch(wanted()).sha256 == HASH


@pytest.mark.parametrize("filename", ["../x-1-py3-none-any.whl", "demo.zip", "a\\b-1.0-py3-none-any.whl"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, filename: str) -> None:
    cache = cache_in(tmp_path / "cache", Served())
    with pytest.raises(IntegrityError):
        cache.fetch(wanted(filename=filename))
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "cache" / "wheelmill"
    for part, name, days in (("client", "pages.sqlite3", 0), ("wheels", "old.whl", 9), ("build", "running", 9)):
        path = found / part / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"1234")
        moment = (dt.datetime.now(tz=dt.UTC) - dt.timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))
    return found


def test_files_of_the_client_are_counted(folder: Path) -> None:
    content = clean_cache(None, dry_run=True)
    assert (content.folder, content.files, content.size) == (folder, 2, 8)
    assert content.oldest is not None
    assert (dt.datetime.now(tz=dt.UTC) - content.oldest).days == 9


def test_what_is_old_is_deleted(folder: Path) -> None:
    assert clean_cache(dt.timedelta(days=1)).files == 1
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["pages.sqlite3", "running"]


def test_manifests_that_were_kept_are_deleted_too(folder: Path) -> None:
    kept = folder / "manifests" / ("0" * 64)
    kept.parent.mkdir()
    kept.write_bytes(b"{}")
    clean_cache(None)
    assert not kept.parent.exists()


def test_all_of_the_client_is_deleted_and_nothing_of_builds(folder: Path) -> None:
    assert clean_cache(None).size == 8
    assert [path.name for path in folder.iterdir()] == ["build"]


def test_what_killed_commands_left_is_deleted_too_and_counted_first(folder: Path) -> None:
    with claim_folder(folder / "build" / "other", wait=None) as claimed:
        left = claimed.rename(folder / "build" / "demo-cu130")
        (left.parent / ".demo-cu130.wheelmill-lock").hardlink_to(left.parent / ".other.wheelmill-lock")
    (left / "object.o").write_bytes(b"123456")
    assert clean_cache(None, dry_run=True).leftovers == 6
    assert clean_cache(None, dry_run=True).files == 2
    assert clean_cache(None).leftovers == 6
    assert not left.exists()
    assert clean_cache(None, dry_run=True).leftovers == 0


def test_no_cache_is_an_empty_one() -> None:
    assert clean_cache(None, dry_run=True).files == clean_cache(None).files == 0
