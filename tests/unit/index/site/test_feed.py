"""Feeds of what is new, read by a feed reader, and the page that tells the same."""

import xml.etree.ElementTree as ET
from datetime import timedelta
from urllib.parse import urljoin

import feedparser
import pytest

from tests.unit.index.conftest import EVERY_KIND, Release
from tests.unit.index.site.test_pages import people
from tests.unit.release.conftest import NOW
from wheelmill.config.model import Listing, Yanked
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.news import SHOWN, news_of
from wheelmill.index.site.pages import site_pages
from wheelmill.index.site.wheels import wheel_groups

ATOM = "{http://www.w3.org/2005/Atom}"
SITE = "https://example.org/wheels/"
STORE = "https://example.org/releases"


def feeds(release: Release, site_url: str | None = SITE) -> dict[str, bytes]:
    release(*EVERY_KIND[:2], now=NOW - timedelta(days=1))
    manifests = release(EVERY_KIND[3])
    pages = site_pages(site_of_releases(manifests, STORE), site_url=site_url)
    return {path: b"".join(content) for path, content in pages if path.endswith("feed.xml")}


def test_a_reader_finds_what_was_published_the_newest_first(release: Release) -> None:
    found = feedparser.parse(feeds(release)["news/feed.xml"])
    assert not found.bozo
    assert found.version == "atom10"
    assert [entry.title for entry in found.entries] == ["plain-cuda 2.0: 1 wheel", "demo 1.0: 2 wheels"]
    assert found.entries[1].summary == "For torch 2.10 to 2.11, CUDA 13.0, Linux x86_64."
    assert [entry.updated for entry in found.entries] == ["2026-11-21T12:30:15Z", "2026-11-20T12:30:15Z"]
    assert found.feed.updated == "2026-11-21T12:30:15Z"
    assert [entry.link for entry in found.entries] == [f"{SITE}packages/plain-cuda/2.0/", f"{SITE}packages/demo/1.0/"]


def test_each_package_has_a_feed_of_its_own(release: Release) -> None:
    found = feeds(release)
    assert found.keys() == {"news/feed.xml", "packages/demo/feed.xml", "packages/plain-cuda/feed.xml"}
    own = feedparser.parse(found["packages/demo/feed.xml"])
    assert [entry.title for entry in own.entries] == ["demo 1.0: 2 wheels"]
    assert own.entries[0].id == feedparser.parse(found["news/feed.xml"]).entries[1].id


def test_a_feed_has_all_that_its_specification_requires(release: Release) -> None:
    """https://www.rfc-editor.org/rfc/rfc4287#section-4.1.1 and 4.1.2."""
    for path, content in feeds(release).items():
        feed = ET.fromstring(content)  # noqa: S314 - ours
        assert feed.tag == f"{ATOM}feed"
        for element in (feed, *feed.findall(f"{ATOM}entry")):
            for name in ("id", "title", "updated"):
                assert len(element.findall(ATOM + name)) == 1
        assert len(feed.findall(f"{ATOM}author/{ATOM}name")) == 1
        relations = [link.get("rel") for link in feed.findall(f"{ATOM}link")]
        assert sorted(map(str, relations)) == ["alternate", "self"]
        assert feed.find(f"{ATOM}link[@rel='self']").get("href") == SITE + path  # type: ignore[union-attr]
        identities = [each.text for each in feed.iter(f"{ATOM}id")]
        assert len(identities) == len(set(identities))
        assert all(str(each).startswith("urn:uuid:") for each in identities)


def test_an_identity_stays_where_the_site_moves_and_more_is_published(release: Release) -> None:
    before = feedparser.parse(feeds(release, "https://old.example.org/")["news/feed.xml"])
    manifests = release(EVERY_KIND[2], now=NOW + timedelta(hours=1))
    pages = dict(site_pages(site_of_releases(manifests, STORE), site_url=SITE))
    after = feedparser.parse(b"".join(pages["news/feed.xml"]))
    assert after.feed.id == before.feed.id
    assert [entry.id for entry in after.entries][1:] == [entry.id for entry in before.entries]


def test_without_an_address_links_lead_from_the_feed_to_the_pages(release: Release) -> None:
    for path, content in feeds(release, None).items():
        for link in ET.fromstring(content).iter(f"{ATOM}link"):  # noqa: S314 - ours
            target = urljoin(SITE + path, str(link.get("href")))
            assert target.startswith((f"{SITE}packages/", f"{SITE}news/"))


def test_a_site_without_wheels_has_a_feed_without_entries() -> None:
    found = feedparser.parse(people(site_of_releases([], ""))["news/feed.xml"])
    assert not found.bozo
    assert found.entries == []


def test_a_feed_is_bounded(release: Release) -> None:
    manifests = [
        *(release(f"demo-{number}.0+cu130-py3-none-any.whl", now=NOW + timedelta(hours=number)) for number in range(3)),
    ][-1]
    groups = {project: wheel_groups(files) for project, files in site_of_releases(manifests, "").projects.items()}
    assert [each.version for each in news_of(groups, limit=2)] == ["2.0", "1.0"]
    assert SHOWN == 50


def test_a_yanked_wheel_is_no_news(release: Release) -> None:
    listing = Listing(yanked=Yanked(wheels={EVERY_KIND[0]: "broken"}))
    pages = people(site_of_releases(release(*EVERY_KIND[:2]), "", listing))
    assert b"demo 1.0: 1 wheel<" in pages["news/feed.xml"]
    assert "1 wheel for torch 2.10, CUDA 13.0, Linux x86_64" in pages["news/index.html"].decode()


@pytest.mark.parametrize("path", ["index.html", "news/index.html", "packages/demo/index.html", "about/index.html"])
def test_every_page_names_the_feed_and_says_what_it_is(path: str, release: Release) -> None:
    page = people(site_of_releases(release(EVERY_KIND[0]), ""))[path].decode()
    assert f'href="{"../" * path.count("/") or "./"}news/feed.xml"' in page
    assert '<meta name="description" content="' in page
    assert '<meta property="og:title" content="' in page
