"""Tags that cannot be had, and drafts that were left."""

from datetime import timedelta

import pytest

from tests.github_server import GitHub, Release
from tests.refusals import coded
from tests.unit.release.conftest import NOW
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill.errors import RejectedError, ReleaseError
from wheelmill.release.github.store import GitHubStore
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import QUIET


def removed_by_its_owner(github: GitHub, *, tag: bool) -> None:
    """Remove the one release there is, which was immutable, and make the ledger again, which had it."""
    del github.refs["refs/heads/ledger"]
    release = github.releases.pop()
    github.burned.add(release.tag)
    if tag:
        del github.refs[f"refs/tags/{release.tag}"]


@pytest.mark.parametrize("tag", [True, False])
def test_a_tag_that_an_immutable_release_had_is_left_for_the_next_number(
    store: GitHubStore, github: GitHub, wheels: list[TestedWheel], *, tag: bool
) -> None:
    publish(store, wheels, now=NOW)
    removed_by_its_owner(github, tag=tag)
    (manifest,) = publish(store, wheels, now=NOW).releases
    assert manifest.tag == "v2026-11-21.2"
    assert [(release.tag, release.draft) for release in github.releases] == [("v2026-11-21.2", False)]
    assert len(github.published()["v2026-11-21.2"]) == 3 * len(wheels) + 1


def test_a_rule_against_all_tags_is_told(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    github.burned |= {"v2026-11-21", *(f"v2026-11-21.{number}" for number in range(2, 100))}
    with pytest.raises(RejectedError, check=coded("github-rejected", "creations being restricted")):
        publish(store, wheels, now=NOW)


def test_left_drafts_are_listed_and_old_ones_removed(github: GitHub, clock: FakeClock) -> None:
    made = {"v2026-11-19": timedelta(days=2), "v2026-11-21": timedelta(hours=2), "v1.0": timedelta(days=9)}
    for number, (tag, age) in enumerate(made.items()):
        at = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
        github.releases.append(Release(1000 + number, tag, "", "", created_at=at))
    store = store_on(github, clock)
    listed = store.orphans(remove=False, progress=QUIET)
    assert [(each.name, each.age.days, each.removed) for each in listed] == [
        ("v2026-11-21", 0, False),
        ("v2026-11-19", 2, False),
    ]
    assert github.writes == []
    removed = store.orphans(remove=True, progress=QUIET)
    assert [(each.name, each.removed) for each in removed] == [("v2026-11-21", False), ("v2026-11-19", True)]
    assert [release.tag for release in github.releases] == ["v2026-11-21", "v1.0"]


def test_no_draft_is_removed_while_somebody_publishes(github: GitHub, clock: FakeClock) -> None:
    github.releases.append(Release(1000, "v2026-11-01", "", "", created_at="2026-11-01T00:00:00Z"))
    with (
        store_on(github, clock).publisher(now=NOW, progress=QUIET, until=None),
        pytest.raises(ReleaseError, check=coded("somebody-else")),
    ):
        store_on(github, clock).orphans(remove=True, progress=QUIET)
    assert len(github.releases) == 1
