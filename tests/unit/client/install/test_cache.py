"""``wheelmill cache``: what is counted and what is deleted."""

import datetime as dt
import os
from pathlib import Path

import pytest

from wheelmill.client.install.cache import clean_cache, measure_cache


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
    content = measure_cache()
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
    left = folder / "build" / "demo-cu130"
    left.mkdir()
    (left / "object.o").write_bytes(b"123456")
    (left.parent / ".demo-cu130.wheelmill-lock").touch()
    assert measure_cache().leftovers == clean_cache(None, dry_run=True).leftovers == 6
    assert measure_cache().files == 2
    assert clean_cache(None).leftovers == 6
    assert not left.exists()
    assert measure_cache().leftovers == 0


def test_no_cache_is_an_empty_one() -> None:
    assert measure_cache().files == clean_cache(None).files == 0
