"""Pages for people that show what somebody wrote who means ill, in a real browser."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec import structs
from playwright.sync_api import Browser, expect

from tests.real.conftest import sampled
from tests.unit.index.conftest import entry_named, release_of
from tests.unit.index.site.test_coverage import failing
from wheelmill.config.model.files import Listing, Status, StatusEntry, Yanked
from wheelmill.index.collect import site_of_releases
from wheelmill.index.serve import serve_folder
from wheelmill.index.site.pages import site_pages
from wheelmill.index.write import write_site
from wheelmill.names import project_name
from wheelmill.release.manifest.record import ListedRelease
from wheelmill.smoke.verdict import ListedRoom
from wheelmill.wheel.findings import ListedFinding

pytestmark = pytest.mark.real

TURNED = "\N{RIGHT-TO-LEFT OVERRIDE}turned"
HOSTILE = (
    f"{'x' * 10_000} <script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
    f" \x1b[31m {TURNED}"
)
TAGS = "cp312-cp312-manylinux_2_28_x86_64"
LISTED, YANKED = (f"demo-1.0+{label}-{TAGS}.whl" for label in ("cu130torch2.11", "cu128torch2.10"))
WHEEL = f"packages/demo/1.0/cu130torch2.11/#{TAGS}"
PATHS = (
    *("", "about/", "news/", "matrix/", "packages/demo/", "packages/demo/1.0/", "packages/demo/failures/", WHEEL),
    f"packages/demo/1.0/cu128torch2.10/#{TAGS}",
)


def spoilt(release: ListedRelease) -> ListedRelease:
    """The release, with hostile text wherever a manifest has text that is not read as something."""
    (first, *others) = release.wheels
    seen = replace(first.certificate.evidence, policy=HOSTILE, needed=(TURNED, "libc.so.6", HOSTILE))
    certificate = structs.replace(
        first.certificate,
        evidence=seen,
        clean_rooms=(ListedRoom(python="3.12.1", place=HOSTILE, skipped=(HOSTILE,), gpus=(HOSTILE,)),),
        findings=(ListedFinding(code="glibc", detail=HOSTILE, reason=HOSTILE),),
    )
    return structs.replace(release, wheels=(structs.replace(first, certificate=certificate), *others))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of which everything is hostile that packages, builds, wheels and maintainers say in words of their own."""
    demo = project_name("demo")
    status = StatusEntry(status=Status.ARCHIVED, reason=HOSTILE)
    listing = Listing(yanked=Yanked(wheels={YANKED: HOSTILE}, projects={demo: status}))
    known = failing(HOSTILE, log=HOSTILE)
    package = replace(known.packages[demo], description=HOSTILE, licence=HOSTILE)
    known = replace(known, packages={**known.packages, demo: package})
    release = spoilt(release_of("v2026-11-21", map(entry_named, (LISTED, YANKED))))
    folder = tmp_path_factory.mktemp("hostile")
    write_site(site_pages(site_of_releases([release], "https://files.example", listing), known), folder)
    with serve_folder(folder) as url:
        yield url


@sampled(
    ("path", "width", "scheme"),
    [(path, *size) for path in PATHS for size in ((390, "light"), (1440, "dark"))],
    *((path, 390, "light") for path in PATHS),
    ("", 1440, "dark"),
    (WHEEL, 1440, "dark"),
)
def test_hostile_text_stays_in_the_page(path: str, width: int, scheme: Any, browser: Browser, site: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(site) else faults.append(request.url))
    page.goto(site + path)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert Axe().run(page).response["violations"] == []
    assert "owned" not in page.title()
    page.close()
    assert faults == []


def test_a_text_turns_no_other_one_round(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(site + WHEEL)
    expected = page.locator("tr", has=page.get_by_role("rowheader", name="Linked libraries")).locator("code")
    turned, next_to_it = expected.nth(0), expected.nth(1)
    expect(next_to_it).to_be_visible()
    one, other = turned.bounding_box(), next_to_it.bounding_box()
    assert one
    assert other
    assert other["y"] > one["y"] + one["height"] or other["x"] >= one["x"] + one["width"]
    page.close()
