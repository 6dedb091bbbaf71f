import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from wheelmill.client.sources import page_cache
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.errors import UsageError


def test_a_broken_cache_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "pages.sqlite3").write_bytes(b"no database" * 100)
    with PageCache(tmp_path) as cache:
        assert cache.page("https://host.test/") is None


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file/client") as raised:
        PageCache(tmp_path / "file" / "client")
    assert "--no-cache" in str(raised.value.hint)


def test_a_database_that_was_left_without_tables_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full_disk:
        full_disk.setattr(page_cache, "_SCHEMA", "CREATE nothing")
        with pytest.raises(UsageError, match="the cache cannot be used"):
            PageCache(tmp_path)
    with PageCache(tmp_path) as cache:
        assert cache.fact("key") is None


def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    with closing(sqlite3.connect(tmp_path / "pages.sqlite3")) as another:
        another.execute("DROP TABLE facts")
    with pytest.raises(UsageError, match="the cache cannot be used: no such table"), cache:
        cache.keep_fact("key", "content")
