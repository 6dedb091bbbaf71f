"""The pages of builds that failed."""

from dataclasses import replace
from datetime import timedelta
from html import unescape

from tests.unit.index.site.test_pages import HOSTILE, catalogue, people
from tests.unit.plan.examples import CONFIG, DEMO
from tests.unit.release.conftest import NOW
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.failures import failures_of
from wheelmill.index.tree import Catalogue
from wheelmill.names import Sha256
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, KnownFailure, Obstacle, Skip

RUN = "https://example.org/o/r/actions/runs/12"


def failing(*reasons: str, log: str = "cc1plus: out of words", run: str | None = RUN) -> Catalogue:
    """A plan whose first targets failed of these."""
    known = catalogue()
    targets = [target for target in known.plan.targets if target.cell.project == DEMO]
    skips = []
    for number, (target, reason) in enumerate(zip(targets, reasons, strict=False)):
        failure = KnownFailure(
            id=target.cell.id, target=Sha256("0" * 64), failed_at=NOW + timedelta(hours=number), reason=reason, log=log,
            run=run,
        )  # fmt: skip
        skips.append(Skip(cell=target.cell, obstacle=Obstacle.FAILED, reason=reason, failure=failure))
    assert len(skips) == len(reasons)
    return replace(known, plan=replace(known.plan, skips=tuple(skips)))


def test_a_page_tells_what_the_compiler_said_where_and_shows_the_log() -> None:
    pages = people(site_of_releases([], ""), failing("error: no ninja"))
    page = pages["packages/demo/failures/index.html"].decode()
    assert '<p class="verdict none">error: no ninja</p>' in page
    assert "cc1plus: out of words" in page
    assert f'<a href="{RUN}">' in page
    assert 'href="failures/"' in pages["packages/demo/index.html"].decode()


def test_what_fails_of_the_same_is_told_once() -> None:
    found = failures_of(failing("error: a", "error: a", "error: b"))[DEMO]
    told = {(each.version, each.newest.reason): each.count for each in found.builds}
    assert sum(told.values()) == 3
    assert len(told) == len(found.builds)


def test_packages_without_failures_have_no_such_page() -> None:
    pages = people(site_of_releases([], ""), catalogue())
    assert [path for path in pages if "failures" in path] == []


def test_a_hostile_log_stays_text_and_links_to_nothing() -> None:
    hostile = failing(HOSTILE, log=HOSTILE, run="javascript:alert(1)")
    page = people(site_of_releases([], ""), hostile)["packages/demo/failures/index.html"].decode()
    assert HOSTILE in unescape(page)
    assert "<img src=x" not in page
    assert "javascript:" not in page


def test_many_reasons_make_a_page_of_bounded_size() -> None:
    plan = make_plan(CONFIG, Filters(), {})
    (target, *_) = plan.targets
    skips = tuple(
        Skip(cell=target.cell, obstacle=Obstacle.FAILED, reason=f"error {number}", failure=KnownFailure(
            id=target.cell.id, target=Sha256("0" * 64), failed_at=NOW, reason=f"error {number}", log="x" * 4000))
        for number in range(100)
    )  # fmt: skip
    pages = people(site_of_releases([], ""), replace(catalogue(), plan=replace(plan, skips=skips)))
    page = pages[f"packages/{target.cell.project}/failures/index.html"]
    assert len(page) < 150_000
    assert b"And 80 other reasons" in page
