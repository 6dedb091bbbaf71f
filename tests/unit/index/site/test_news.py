"""Feeds of what is new, read by a feed reader, and the page that tells the same."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from html import escape
from typing import Final
from urllib.parse import urljoin

import feedparser
import jsonschema
import pytest

from tests.unit.index.conftest import EVERY_KIND, Release, people
from tests.unit.index.site.test_pages import catalogue
from tests.unit.plan.examples import DEMO
from tests.unit.release.conftest import NOW
from wheelmill.config.model.files import Listing, Yanked
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.news import SHOWN, Badge, History, badge_of, histories_of, news_of
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import SiteAddress
from wheelmill.names import CudaVersion, ProjectName, TorchVersion
from wheelmill.release.manifest.record import ListedRelease

ATOM = "{http://www.w3.org/2005/Atom}"
SITE = "https://example.org/wheels/"
STORE = "https://example.org/releases"


def feeds(release: Release, site_url: str = SITE) -> dict[str, bytes]:
    release(*EVERY_KIND[:2], now=NOW - timedelta(days=1))
    manifests = release(EVERY_KIND[3])
    pages = people(site_of_releases(manifests, STORE), address=SiteAddress(url=site_url))
    return {path: content for path, content in pages.items() if path.endswith("feed.xml")}


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
    pages = people(site_of_releases(manifests, STORE), address=SiteAddress(url=SITE))
    after = feedparser.parse(pages["news/feed.xml"])
    assert after.feed.id == before.feed.id
    assert [entry.id for entry in after.entries][1:] == [entry.id for entry in before.entries]


def test_without_an_address_links_lead_from_the_feed_to_the_pages(release: Release) -> None:
    for path, content in feeds(release, "").items():
        for link in ET.fromstring(content).iter(f"{ATOM}link"):  # noqa: S314 - ours
            target = urljoin(SITE + path, str(link.get("href")))
            assert target.startswith((f"{SITE}packages/", f"{SITE}news/"))


def test_a_site_without_wheels_has_a_feed_without_entries() -> None:
    found = feedparser.parse(people(site_of_releases([], ""))["news/feed.xml"])
    assert not found.bozo
    assert found.entries == []


def test_a_feed_is_bounded(release: Release) -> None:
    hours = (timedelta(hours=number) for number in range(3))
    manifests = [
        *(release(f"demo-{number}.0+cu130-py3-none-any.whl", now=NOW + hour) for number, hour in enumerate(hours))
    ][-1]
    ((project, files),) = site_of_releases(manifests, "").projects.items()
    assert [each.version for each in news_of(project, wheel_groups(files), limit=2)] == ["2.0", "1.0"]
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


SVG = "{http://www.w3.org/2000/svg}"
Counts = Mapping[date, Mapping[ProjectName, int]]
COUNTS: Counts = {date(2026, 11, 22): {DEMO: 10}, date(2026, 11, 29): {DEMO: 1234}}


def curves(history: History) -> list[list[tuple[float, float]]]:
    picture = ET.fromstring(history.svg)  # noqa: S314 - ours
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in line.get("points", "").split())]
        for line in picture.iter(f"{SVG}polyline")
    ]


def history_of(manifests: tuple[ListedRelease, ...], counts: Counts = COUNTS) -> History:
    return histories_of({DEMO: wheel_groups(site_of_releases(manifests, "").projects[DEMO])}, counts)[DEMO]


def test_wheels_are_added_up_by_the_day(release: Release) -> None:
    release(*EVERY_KIND[:2], now=NOW - timedelta(days=3))
    history = history_of(release(EVERY_KIND[2]))
    assert history.wheels == ((date(2026, 11, 18), 2), (date(2026, 11, 21), 3))
    assert history.words == ("3 wheels", "1,234 downloads until 2026-11-29")


def test_the_curves_span_all_days_and_do_not_fall(release: Release) -> None:
    wheels, downloads = curves(history_of(release(*EVERY_KIND[:2])))
    assert (wheels[0][0], wheels[-1][0], downloads[-1][0]) == (0, 360, 360)
    assert downloads[0][0] == 80  # the third of ten days
    for curve in (wheels, downloads):
        heights = [y for _, y in curve]
        assert heights == sorted(heights, reverse=True)


def test_where_nobody_asked_for_downloads_there_is_no_curve_of_them(release: Release) -> None:
    history = history_of(release(EVERY_KIND[0]), {})
    assert history.words == ("1 wheel",)
    assert len(curves(history)) == 1


def test_a_picture_of_many_days_is_small() -> None:
    first = date(2020, 1, 1)
    days = tuple((first + timedelta(days=day), day + 1) for day in range(3000))
    history = History(wheels=days, downloads=days)
    assert len(history.svg) < 25_000


def test_the_page_of_a_package_shows_it_and_says_the_same_in_words(release: Release) -> None:
    site = site_of_releases(release(*EVERY_KIND), "")
    pages = people(site, replace(catalogue(), downloads=COUNTS))
    assert b"<title>3 wheels; 1,234 downloads until 2026-11-29</title>" in pages["packages/demo/history.svg"]
    page = pages["packages/demo/index.html"].decode()
    assert 'src="history.svg"' in page
    assert escape("Over time: 3 wheels; 1,234 downloads until 2026-11-29") in page
    assert "packages/plain/history.svg" not in pages


ENDPOINT: Final = {
    "type": "object",
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
    },
}
"""What shields asks of an endpoint: https://shields.io/badges/endpoint-badge."""


def badge(release: Release, *wheels: str, requires: tuple[str, ...] = ()) -> Badge:
    names = [f"demo-{each}-cp312-cp312-manylinux_2_28_x86_64.whl" for each in wheels]
    site = site_of_releases(release(*names, requires=requires), "")
    torches = {CudaVersion(13, 0): [TorchVersion(2, 10), TorchVersion(2, 11), TorchVersion(2, 12, 1)]}
    return badge_of(wheel_groups(site.projects.get(DEMO, ())), torches)


GREEN, RED, GREY = "#0d7a66", "#a8431f", "#5d636b"


def test_the_newest_version_counts_and_of_it_the_newest_torch(release: Release) -> None:
    found = badge(release, "1.0+cu130torch2.9", "2.0+cu130torch2.9", "2.0+cu130torch2.11")
    assert (found.message, found.colour) == ("2.0, torch 2.11", GREEN)


def test_a_version_that_is_not_built_for_the_newest_torch_is_red(release: Release) -> None:
    found = badge(release, "1.0+cu130torch2.11", "2.0+cu130torch2.10")
    assert (found.message, found.colour) == ("2.0, torch 2.10", RED)


def test_what_needs_no_torch_is_green(release: Release) -> None:
    assert badge(release, "2.0+cu130") == Badge(message="2.0", colour=GREEN)


@pytest.mark.parametrize(("requires", "colour"), [("torch>=2.9", GREEN), ("torch>=2.9,<2.11", RED)])
def test_any_torch_of_a_range_is_green_where_the_newest_is_in_it(requires: str, colour: str, release: Release) -> None:
    found = badge(release, "2.0+cu130", requires=(requires,))
    assert found.message.startswith("2.0, any torch from 2.9")
    assert found.colour == colour


def test_every_package_has_a_badge_that_shields_takes(release: Release) -> None:
    pages = people(site_of_releases(release("demo-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), ""), catalogue())
    badges = {path: content for path, content in pages.items() if path.endswith("/badge.json")}
    assert badges.keys() == {"packages/demo/badge.json", "packages/plain/badge.json"}
    for content in badges.values():
        jsonschema.validate(json.loads(content), ENDPOINT)
    assert json.loads(badges["packages/plain/badge.json"])["message"] == "none yet"


def test_a_picture_is_sound_and_hostile_text_stays_text() -> None:
    hostile = '</text><script>alert(1)</script>"&'
    picture = ET.fromstring(Badge(message=hostile, colour=GREY).svg)  # noqa: S314 - ours
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["CUDA wheels", hostile]
    assert picture.find("{http://www.w3.org/2000/svg}title").text == f"CUDA wheels: {hostile}"  # type: ignore[union-attr]
    assert [each for each in picture.iter() if "script" in each.tag] == []
