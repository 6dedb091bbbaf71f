"""The documents in the site of an index, in a real browser: found from its first page, searched, and read on phones."""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.documents import rendered_documents
from tests.real.conftest import DEMO, Command, or_nightly
from wheelmill.index.serve import serve_folder

pytestmark = pytest.mark.real

PAGES = ("README", "client", "what-an-index-has", "when-something-is-red", "decisions/README")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, wheelmill: Command) -> Iterator[str]:
    """An index that was built twice with the documents."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "releases").mkdir()
    for _ in range(2):
        wheelmill(
            *("index", "build", "--config", DEMO, "--output", folder / "site"),
            env={"WHEELMILL_STORE": f"dir:{folder / 'releases'}", "WHEELMILL_DOCS": str(rendered_documents())},
        )
    with serve_folder(folder) as url:
        yield f"{url}site/"


@pytest.fixture(params=or_nightly(["light", "dark"], "dark"))
def page(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that must stay without an error, and without a request to another host."""
    opened = browser.new_page(color_scheme=request.param)
    faults: list[str] = []
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda asked: None if asked.url.startswith(site) else faults.append(asked.url))
    yield opened
    opened.close()
    assert faults == []


def test_the_first_page_leads_to_documents_that_can_be_searched(page: Page, site: str) -> None:
    page.goto(site)
    page.get_by_role("link", name="Docs").click()
    expect(page.locator("h1")).to_have_text(re.compile("documents"))
    page.get_by_role("searchbox").or_(page.get_by_placeholder("Search")).first.fill("undefined symbol")
    page.keyboard.press("Enter")
    results = page.locator("#search-results li a")
    expect(results.first).to_be_visible()
    results.first.click()
    expect(page.locator("article")).to_contain_text("undefined symbol")


def test_axe_finds_nothing_that_keeps_a_reader_out(page: Page, site: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})  # where code and tables are scrolled
    for name in PAGES:
        page.goto(f"{site}docs/{name}.html")
        violations = Axe().run(page).response["violations"]
        assert [(name, each["id"]) for each in violations if each["impact"] in ("critical", "serious")] == []


@pytest.mark.parametrize("width", [390, 1440])
def test_pages_are_as_wide_as_the_screen(page: Page, site: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for name in PAGES:
        page.goto(f"{site}docs/{name}.html")
        expect(page.locator("article h1").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
