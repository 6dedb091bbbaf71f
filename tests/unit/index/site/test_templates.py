"""No page grows with the index: at 20,000 wheels each stays one that a phone can show."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest

from tests.site_of_many import site_of_many
from tests.unit.index.conftest import people
from tests.unit.index.site.test_pages import described
from wheelmill.index.tree import Site
from wheelmill.names import project_name

SIZES = [3_000, pytest.param(20_000, marks=pytest.mark.nightly)]
"""Wheels."""
MAX_BYTES = 150_000
MAX_ELEMENTS = 3_000
DEMO = project_name("demo")


@pytest.fixture(scope="module", params=SIZES)
def site(request: pytest.FixtureRequest) -> Site:
    """Half of the wheels are of one project, and fifty others share the rest."""
    return site_of_many(request.param, [DEMO, *(project_name(f"p{number}") for number in range(50))])


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[str, bytes]:
    return people(site, described(DEMO, "A project", "MIT"))


class Counter(HTMLParser):
    """Counts elements."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.elements += 1


def elements_of(page: bytes) -> int:
    counter = Counter()
    counter.feed(page.decode())
    return counter.elements


def test_no_page_is_too_long(site: Site, pages: dict[str, bytes]) -> None:
    assert {path: len(page) for path, page in pages.items() if len(page) > MAX_BYTES} == {}
    shown = {path: page for path, page in pages.items() if path.endswith(".html")}
    assert len(shown) > sum(map(len, site.projects.values())) / 20
    assert {path: count for path, page in shown.items() if (count := elements_of(page)) > MAX_ELEMENTS} == {}


def test_every_wheel_has_an_address_that_a_table_leads_to(site: Site, pages: dict[str, bytes]) -> None:
    addresses: dict[str, str] = {}
    links: set[str] = set()
    for path, page in pages.items():
        if path.startswith("packages/demo/") and path.endswith(".html"):
            text, folder = page.decode(), f"https://example.org/{path.removesuffix('index.html')}"
            shown = re.findall(r'<section class="wheel" id="([^"]+)">.*?data-file>([^<]+)</a>', text, re.DOTALL)
            addresses |= {name: f"{folder}#{anchor}" for anchor, name in shown}
            links |= {urljoin(folder, link) for link in re.findall(r'<td><a href="([^"#]+#[^"]+)"', text)}
    assert addresses.keys() == {file.filename for file in site.projects[DEMO]}
    assert links == set(addresses.values())
