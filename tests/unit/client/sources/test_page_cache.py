import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from wheelmill.client.sources import page_cache
from wheelmill.client.sources.links import group_links
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.web.pages import Link


def test_a_broken_cache_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "pages.sqlite3").write_bytes(b"no database" * 100)
    with PageCache(tmp_path) as cache:
        assert cache.page("https://host.test/") is None


def test_a_folder_that_cannot_be_made_is_told_and_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with PageCache(tmp_path / "file" / "client") as cache:
        cache.keep_fact("key", "content")
        assert cache.fact("key") == "content"
    (warning,) = cache.warnings
    assert "file/client" in warning
    assert "--no-cache" in warning


def test_a_database_that_was_left_without_tables_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full_disk:
        full_disk.setattr(page_cache, "_SCHEMA", "CREATE nothing")
        with pytest.raises(sqlite3.OperationalError):
            PageCache(tmp_path)
    with PageCache(tmp_path) as cache:
        assert cache.fact("key") is None
        assert cache.warnings == []


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_database_that_somebody_keeps_is_given_up_soon_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    monkeypatch.setattr(page_cache, "_PATIENCE", 0.01)
    with PageCache(tmp_path) as cache:
        cache.keep_fact("before", "content")
    with closing(sqlite3.connect(tmp_path / "pages.sqlite3", isolation_level=None)) as another:
        another.execute(f"BEGIN {lock}")
        with PageCache(tmp_path) as cache:
            cache.keep_fact("key", "content")
            assert cache.fact("key") == "content"
            assert cache.fact("before") == ("content" if lock == "IMMEDIATE" else None)
        (warning,) = cache.warnings
    assert "database is locked" in warning
    with PageCache(tmp_path) as cache:
        assert cache.fact("key") is None


def test_a_lock_that_comes_between_two_pages_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_PATIENCE", 0.01)
    groups = group_links([Link("demo-1.0-py3-none-any.whl", "demo.whl")])
    with PageCache(tmp_path) as cache, closing(sqlite3.connect(tmp_path / "pages.sqlite3")) as another:
        for url in ("https://a.test/", "https://b.test/"):
            cache.store(url, base=url, following=None, etag=None, modified=None, lifetime=9, groups=groups)
            another.execute("BEGIN IMMEDIATE") if not another.in_transaction else None
        for url in ("https://a.test/", "https://b.test/"):
            page = cache.page(url)
            assert page is not None
            ((number, _),) = cache.groups(page.id, "demo")
            assert [link.url for link in cache.links(number)] == ["demo.whl"]
    assert len(cache.warnings) == 1


def test_no_command_keeps_the_database_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_PATIENCE", 0.01)
    with PageCache(tmp_path) as one, PageCache(tmp_path) as another:
        one.keep_fact("1", "content")
        another.keep_fact("2", "content")
        assert one.fact("2") == another.fact("1") == "content"
    assert one.warnings == another.warnings == []


def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    with closing(sqlite3.connect(tmp_path / "pages.sqlite3")) as another:
        another.execute("DROP TABLE facts")
    with cache:
        cache.keep_fact("key", "content")
    assert "no such table" in cache.warnings[0]
