"""The list of sources is brought up to date from a site, and the one that ships is always there to go on with."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.page_server import Answer, PageServer
from tests.refusals import coded
from wheelmill.client.records import Search
from wheelmill.client.sources import sources
from wheelmill.client.sources.pages import cache_folder, open_cache
from wheelmill.client.sources.sources import read_sources
from wheelmill.errors import UsageError
from wheelmill.index.render import pages_of_sources

NEWER = b"sources:\n  new: {simple: 'https://new.example/simple/', projects: [demo]}\n"
NEWEST = NEWER.replace(b"new:", b"newest:")
SHIPPED = 40

Names = Callable[..., list[str]]


def names_of(search: Search, warnings: list[str]) -> list[str]:
    with open_cache(search) as cache:
        names = [source.name for source in read_sources(search, cache)]
    warnings += cache.warnings
    return names


@pytest.fixture
def publish(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put a list on the site, as `index build` does."""
    monkeypatch.setenv("WHEELMILL_SITE", server.url)

    def put(content: bytes) -> None:
        for path, pieces in pages_of_sources(content):
            server.pages[f"/{path}"] = Answer(b"".join(pieces))

    return put


@pytest.fixture
def published(publish: Callable[[bytes], None]) -> None:
    publish(NEWER)


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def names(warnings: list[str]) -> Names:
    """The names of the sources that are looked in."""

    def of(*, offline: bool = False, refresh: bool = False, use_cache: bool = True) -> list[str]:
        search = Search(offline=offline, refresh=refresh, use_cache=use_cache)
        return names_of(search, warnings)

    return of


def test_a_published_list_replaces_ours(publish: Callable[[bytes], None], names: Names, server: PageServer) -> None:
    publish(NEWER)
    assert names() == names() == names(offline=True) == ["new"]
    assert [path for path, _ in server.asked] == ["/sources.yml.sha256", "/sources.yml"]


def test_after_a_day_the_hash_is_asked_for_and_the_list_only_when_it_changed(
    publish: Callable[[bytes], None], names: Names, server: PageServer
) -> None:
    publish(NEWER)
    names()
    for content, name, asked in ((NEWER, "new", 1), (NEWEST, "newest", 2)):
        publish(content)
        (kept,) = cache_folder().glob("sources-*.yml")
        os.utime(kept, (0, time.time() - 25 * 60 * 60))
        server.asked.clear()
        assert names() == names() == [name]
        assert len(server.asked) == asked
    server.asked.clear()
    assert names(refresh=True) == ["newest"]
    assert len(server.asked) == 1


def test_offline_and_without_a_cache_it_is_the_one_that_ships(
    publish: Callable[[bytes], None], names: Names, server: PageServer, warnings: list[str]
) -> None:
    publish(NEWER)
    assert len(names(offline=True)) == len(names(use_cache=False)) == SHIPPED
    assert server.asked == []
    assert warnings == []


def test_an_empty_variable_turns_it_off(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", "")
    assert len(names()) == SHIPPED


def changed(server: PageServer) -> None:
    server.pages["/sources.yml"] = Answer(NEWEST)


def gone(server: PageServer) -> None:
    server.pages.clear()


def unreadable(server: PageServer) -> None:
    content = b"sources: {new: {ftp: 'ftp://new.example'}}\n"
    server.pages["/sources.yml"] = Answer(content)
    server.pages["/sources.yml.sha256"] = Answer(hashlib.sha256(content).hexdigest().encode())


@pytest.mark.parametrize(("fault", "said"), [(changed, "has sha256"), (gone, "404"), (unreadable, "ftp")])
@pytest.mark.usefixtures("published")
def test_a_list_that_cannot_be_trusted_or_read_changes_nothing(
    fault: Callable[[PageServer], None], said: str, names: Names, server: PageServer, warnings: list[str]
) -> None:
    fault(server)
    assert len(names()) == SHIPPED
    assert said in warnings[0]
    assert "the list of sources that ships" in warnings[0]


def test_the_last_list_stays_in_use(
    publish: Callable[[bytes], None], names: Names, server: PageServer, warnings: list[str]
) -> None:
    publish(NEWER)
    names()
    gone(server)
    assert names(refresh=True) == ["new"]
    assert "the last list" in warnings[0]


def test_a_silent_site_is_a_warning(names: Names, warnings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", "http://127.0.0.1:9/")
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert len(names()) == SHIPPED
    assert len(warnings) == 1


@pytest.mark.parametrize("site", ["no url", "ftp://host.test", "http://[", "https:///path"])
def test_a_site_that_is_no_url_is_refused(site: str, names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", site)
    with pytest.raises(UsageError, check=coded("source-invalid", "WHEELMILL_SITE")):
        names()


def test_the_list_that_ships_may_name_the_site(
    publish: Callable[[bytes], None], server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.yml"
    own.write_bytes(b"site: " + server.url.encode() + b"\n" + NEWER)
    publish(NEWEST)
    monkeypatch.delenv("WHEELMILL_SITE")
    monkeypatch.setattr(sources, "SHIPPED", own)
    for named, found in (((), "newest"), ((str(own),), "new")):  # a list that is named is not replaced by another one
        assert names_of(Search(named=named), []) == [found]
