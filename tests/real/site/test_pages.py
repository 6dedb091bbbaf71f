"""The pages for people in a real browser."""

import hashlib
import json
import os
import platform
import shlex
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.real.conftest import ROOT, sampled
from tests.real.site.conftest import HOSTILE, NEWEST, PYTHON, TAGS, choose, copied, pip_of, run, settings, version_in

pytestmark = pytest.mark.real

WHEELS = "packages/demo/1.0/cu130torch2.11/"
PATHS = (
    *("", "about/", "news/", "matrix/", "packages/demo/", "packages/plain/", "packages/demo/1.0/"),
    *(WHEELS, f"{WHEELS}#{TAGS}", "#project=demo&cuda=99.0&gpu=7.5", "#project=demo", "#project=plain&driver=1"),
)
LIGHT = [(path, "light") for path in PATHS]


def test_hostile_text_is_shown_and_does_nothing(page: Page, site: str) -> None:
    for path in ("", "packages/demo/"):
        page.goto(site + path)
        expect(page.get_by_text(HOSTILE)).to_be_visible()
        assert "owned" not in page.title()


@pytest.mark.parametrize("path", ["packages/demo/", "packages/demo/1.0/"])
def test_coverage_tells_what_is_built_and_why_the_rest_is_not(path: str, page: Page, site: str) -> None:
    page.goto(site + path)
    grid = page.get_by_role("region", name=f"demo 1.0 on Linux {platform.machine()}")
    row = grid.get_by_role("row").filter(has=page.get_by_role("rowheader", name="13.0"))
    expect(row.get_by_role("link")).to_have_text([PYTHON])
    expect(grid.get_by_role("cell", name="not planned", exact=True).first).to_be_visible()
    for reasons in ("Why some are not planned", "Why other CUDAs, torches and Pythons are not there"):
        page.get_by_text(reasons).first.click()
    expect(page.get_by_text("torch 2.11 is not published for Python 3.13t").first).to_be_visible()


def test_the_address_of_a_wheel_shows_it_alone_with_all_that_is_known(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    page.get_by_role("region", name="demo 1.0").get_by_role("link", name=PYTHON).first.click()
    expect(page).to_have_url(f"{site}{WHEELS}#{TAGS}")
    expect(page.get_by_role("row", name="Has machine code for")).to_contain_text("8.0, 9.0")
    expect(page.get_by_role("row", name="Runs on")).to_contain_text("8.6 A2, A10")
    sha256 = copied(page, "sha256")
    file = page.get_by_role("link", name=NEWEST, exact=True)
    content = page.request.get(urljoin(page.url, file.get_attribute("href") or ""))
    assert hashlib.sha256(content.body()).hexdigest() == sha256
    bill = page.request.get(urljoin(page.url, page.get_by_role("link", name="bill of materials").get_attribute("href")))
    assert bill.json()["bomFormat"] == "CycloneDX"


def test_tables_are_filtered_by_what_somebody_has(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    choose(page, cuda="12.8", torch="2.10")
    expect(page.locator(".filter [role=status]")).to_have_text("1 row with wheels on this page")
    expect(page.get_by_role("heading", name="demo 0.9")).to_be_hidden()
    expect(page.locator("tbody tr:visible th")).to_have_text(["2.10", "12.8"])


def test_the_markdown_of_a_badge_leads_to_the_package(page: Page, site: str) -> None:
    page.goto(f"{site}packages/demo/")
    page.get_by_text("A badge for a README").click()
    here = f"{site}packages/demo/"
    assert copied(page, "Markdown") == f"[![CUDA wheels]({here}badge.svg)]({here})"
    badge = page.get_by_role("img", name="CUDA wheels: 1.0, torch 2.11")
    expect(badge).to_be_visible()
    assert badge.evaluate("image => image.naturalWidth") > 100


def test_packages_are_searched_from_any_page(page: Page, site: str) -> None:
    page.goto(site + WHEELS)
    field = page.get_by_role("searchbox", name="Search packages")
    field.fill("pla")
    expect(page.get_by_role("search").get_by_role("link")).to_have_count(1)
    field.press("ArrowDown")
    expect(page.get_by_role("search").get_by_role("link", name="plain")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}packages/plain/")
    field.fill("nothing of that kind")
    expect(page.get_by_role("search").get_by_role("status")).to_have_text("No packages")


@pytest.mark.parametrize("written", ["Demo", "demo_ops", "DEMO-Ops"])
def test_a_search_knows_spellings_and_what_a_package_is_imported_as(written: str, page: Page) -> None:
    page.get_by_role("searchbox", name="Search packages").fill(written)
    expect(page.get_by_role("search").get_by_role("link", name="demo").first).to_be_visible()


def test_a_search_says_who_has_a_package_that_is_not_here(page: Page) -> None:
    page.get_by_role("searchbox", name="Search packages").fill("vLLM")
    found = page.get_by_role("search").get_by_role("listitem")
    expect(found).to_contain_text("wheelmill add vllm")
    expect(found).to_contain_text("vllm-nightly")
    expect(page.get_by_role("search").get_by_role("link")).to_have_count(0)


@pytest.mark.parametrize("written", ["Demo", "demo_ops", "DEMO"])
def test_a_page_that_is_not_there_leads_home_and_to_the_right_spelling(written: str, page: Page, site: str) -> None:
    absent = page.request.get(f"{site}404.html").text()
    page.route(f"{site}packages/{written}/", lambda route: route.fulfill(body=absent, content_type="text/html"))
    page.goto(f"{site}packages/{written}/")
    expect(page.get_by_role("link", name="The first page")).to_have_attribute("href", "/some/where/")
    page.get_by_role("main").get_by_role("link", name="demo").click()
    expect(page).to_have_url(f"{site}packages/demo/")


def test_commands_of_a_copy_have_its_own_address(browser: Browser, site: str) -> None:
    copy = browser.new_page()
    elsewhere = site.replace("127.0.0.1", "localhost")
    copy.goto(f"{elsewhere}packages/demo/")
    expect(copy.locator("pre code").first).to_contain_text(f" {elsewhere}cu130/torch2.11/simple/ ")
    copy.close()


@sampled(("path", "scheme"), product(PATHS, ("light", "dark")), *LIGHT, ("", "dark"), (WHEELS, "dark"))
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(path: str, scheme: Any, page: Page, site: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(site + path)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    violations = Axe().run(page).response["violations"]
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in violations] == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


SHIFT = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().reduce((sum, each) => sum + each.value, 0)))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(0), 500);
})"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", ["", "#project=demo", "#project=demo&cuda=13.0&torch=2.11", "packages/demo/"])
def test_nothing_moves_once_it_is_seen(path: str, width: int, browser: Browser, site: str) -> None:
    """A layout shift of 0.1 is what web.dev/articles/cls calls good."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(site + path)
    page.wait_for_timeout(500)
    assert page.evaluate(SHIFT) < 0.1
    page.close()


def test_addresses_and_packages_need_no_javascript(browser: Browser, site: str, host: str, environment: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    expect(page.locator("#finder")).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.get_by_text("The finder needs JavaScript.")).to_be_visible()
    page.get_by_text("The index of each CUDA and torch").click()
    address = page.get_by_role("link", name="torch 2.10").evaluate("link => link.href")
    page.get_by_role("link", name="demo", exact=True).click()
    command = page.locator("pre code", has_text="pip install").inner_text()
    expect(page.get_by_role("heading", name="demo 1.0", exact=True)).to_be_visible()
    page.locator("tr[data-cuda='12.8'][data-torch='2.10']").get_by_role("link").click()
    expect(page.get_by_text("demo==1.0+cu128torch2.10")).to_be_visible()
    expect(page.get_by_role("heading", name=f"Python {PYTHON}")).to_be_visible()
    context.close()
    _, *arguments = shlex.split(command)
    assert f"{site}cu130/torch2.11/simple/" in arguments
    given = [argument.replace(f"{site}cu130/torch2.11/simple/", address) for argument in arguments]
    run([*pip_of(environment), *given], settings(host), environment)
    assert version_in(environment) == "1.0+cu128torch2.10"


@pytest.mark.nightly
def test_the_benchmark_runs() -> None:
    figures = json.loads(run(["benchmarks/site.py", "--wheels", "500"], dict(os.environ), ROOT))
    assert figures["wheels"] == 500
    assert figures["first_answer_ms"] > 0
