"""Pages for people that go on to further pages, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.unit.index.conftest import entry_named, release_of
from wheelmill.index.collect import site_of_releases
from wheelmill.index.serve import serve_folder
from wheelmill.index.site.pages import MAX_VERSIONS, site_pages
from wheelmill.index.site.wheel_pages import MAX_WHEELS
from wheelmill.index.write import write_site

pytestmark = pytest.mark.real

TAGS = "cp312-cp312-manylinux_2_28_x86_64"


@pytest.fixture(scope="module")
def long_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site whose package has more versions, and a label more wheels, than a page has room for."""
    names = [f"demo-{number}.0+cu130torch2.11-{number}-{TAGS}.whl" for number in range(1, MAX_VERSIONS + 1)]
    names += [f"demo-0.1+cu130torch2.11-{build}-{TAGS}.whl" for build in range(1, MAX_WHEELS + 2)]
    release = release_of("v2026-11-21", map(entry_named, names))
    folder = tmp_path_factory.mktemp("long")
    write_site(site_pages(site_of_releases([release], "https://files.example")), folder)
    with serve_folder(folder) as url:
        yield url


@pytest.mark.parametrize(
    ("start", "older", "newer"),
    [
        ("packages/demo/", "Older versions", "Newer versions"),
        ("packages/demo/0.1/cu130torch2.11/", "Wheels after these", "Wheels before these"),
    ],
)
def test_a_further_page_leads_on_and_back(start: str, older: str, newer: str, browser: Browser, long_site: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(long_site + start)
    page.get_by_role("link", name=older).click()
    expect(page).to_have_url(f"{long_site}{start}page-2/")
    expect(page.get_by_role("link", name=older)).to_have_count(0)
    page.wait_for_load_state()  # a width is that of the page with its style
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("link", name=newer).click()
    expect(page).to_have_url(long_site + start)
    context.close()
    assert failed == []


def test_a_version_on_a_further_page_is_found_and_has_its_wheels(browser: Browser, long_site: str) -> None:
    page = browser.new_page()
    page.goto(f"{long_site}packages/demo/page-2/")
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("link", name="0.1", exact=True).click()
    expect(page.get_by_role("heading", name="demo 0.1")).to_be_visible()
    page.close()


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("packages/demo/#0.1", "packages/demo/0.1/"),
        (f"packages/demo/0.1/cu130torch2.11/#9-{TAGS}", f"packages/demo/0.1/cu130torch2.11/page-2/#9-{TAGS}"),
        ("packages/demo/page-2/#%", "packages/demo/page-2/#%"),
    ],
)
def test_an_address_leads_to_a_further_page(link: str, leads_to: str, browser: Browser, long_site: str) -> None:
    page = browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(long_site + link)
    expect(page).to_have_url(long_site + leads_to)
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.close()
    assert faults == []


def test_tables_of_many_pythons_are_seen_whole_on_a_desk(browser: Browser, tmp_path: Path) -> None:
    names = [
        f"demo-1.0+cu130torch2.11-{python.removesuffix('t')}-{python}-manylinux_2_28_{machine}.whl"
        for machine in ("x86_64", "aarch64")
        for python in ("cp310", "cp311", "cp312", "cp313", "cp313t", "cp314", "cp314t", "cp315", "cp315t")
    ]
    release = release_of("v2026-11-21", map(entry_named, names))
    write_site(site_pages(site_of_releases([release], "https://files.example")), tmp_path)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    with serve_folder(tmp_path) as url:
        page.goto(f"{url}packages/demo/")
        hidden = page.locator(".scroll").evaluate_all("all => all.map(each => each.scrollWidth - each.clientWidth)")
    page.close()
    assert hidden == [0, 0]
