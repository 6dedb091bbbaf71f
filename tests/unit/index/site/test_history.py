"""The pictures of wheels and downloads over time."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date, timedelta
from html import escape

from tests.unit.index.conftest import EVERY_KIND, Release
from tests.unit.index.site.test_pages import catalogue, people
from tests.unit.plan.examples import DEMO
from tests.unit.release.conftest import NOW
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.history import History, histories_of
from wheelmill.index.site.wheels import wheel_groups

SVG = "{http://www.w3.org/2000/svg}"
COUNTS = {date(2026, 11, 22): {DEMO: 10}, date(2026, 11, 29): {DEMO: 1234}}


def curves(history: History) -> list[list[tuple[float, float]]]:
    picture = ET.fromstring(history.svg)  # noqa: S314 - ours
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in line.get("points", "").split())]
        for line in picture.iter(f"{SVG}polyline")
    ]


def test_wheels_are_added_up_by_the_day(release: Release) -> None:
    release(*EVERY_KIND[:2], now=NOW - timedelta(days=3))
    site = site_of_releases(release(EVERY_KIND[2]), "")
    history = histories_of({DEMO: wheel_groups(site.projects[DEMO])}, COUNTS)[DEMO]
    assert history.wheels == ((date(2026, 11, 18), 2), (date(2026, 11, 21), 3))
    assert history.words == ("3 wheels", "1,234 downloads until 2026-11-29")


def test_the_curves_span_all_days_and_do_not_fall(release: Release) -> None:
    site = site_of_releases(release(*EVERY_KIND[:2]), "")
    history = histories_of({DEMO: wheel_groups(site.projects[DEMO])}, COUNTS)[DEMO]
    wheels, downloads = curves(history)
    assert (wheels[0][0], wheels[-1][0], downloads[-1][0]) == (0, 360, 360)
    assert downloads[0][0] == 80  # the third of ten days
    for curve in (wheels, downloads):
        heights = [y for _, y in curve]
        assert heights == sorted(heights, reverse=True)


def test_where_nobody_asked_for_downloads_there_is_no_curve_of_them(release: Release) -> None:
    site = site_of_releases(release(*EVERY_KIND[:1]), "")
    history = histories_of({DEMO: wheel_groups(site.projects[DEMO])}, {})[DEMO]
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
