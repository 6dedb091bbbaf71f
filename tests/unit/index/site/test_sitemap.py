"""The list of pages for those who search the web."""

import xml.etree.ElementTree as ET

import pytest

from tests.unit.index.conftest import EVERY_KIND, Release
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.pages import site_pages
from wheelmill.index.site.sitemap import with_sitemap

LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


def listed(pages: dict[str, bytes]) -> list[str]:
    return [str(each.text) for each in ET.fromstring(pages["sitemap.xml"]).iter(LOC)]  # noqa: S314 - ours


def test_it_lists_every_page_for_people(release: Release) -> None:
    pages = site_pages(site_of_releases(release(*EVERY_KIND), ""), site_url="https://example.org/wheels/")
    found = {path: b"".join(content) for path, content in pages}
    addresses = listed(found)
    assert addresses[0] == "https://example.org/wheels/"
    assert "https://example.org/wheels/packages/demo/" in addresses
    assert len(addresses) == sum(path.rpartition("/")[2] == "index.html" for path in found)


def test_without_an_address_there_is_none(release: Release) -> None:
    assert "sitemap.xml" not in dict(site_pages(site_of_releases(release(EVERY_KIND[0]), "")))


@pytest.mark.parametrize("most", [50, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_it_has_no_more_addresses_than_it_may(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.index.site.sitemap._MOST", most)
    pages = ((f"packages/p{number}/index.html", [b""]) for number in range(most + 1))
    found = {path: b"".join(content) for path, content in with_sitemap(pages, "https://example.org/?a&b/")}
    assert len(listed(found)) == most
    assert len(found) == most + 2
    assert len(found["sitemap.xml"]) < 50 << 20
