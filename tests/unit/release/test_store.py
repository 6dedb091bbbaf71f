"""Tags of days, and the file of known failures."""

import itertools
from datetime import date
from pathlib import Path

import pytest

from tests.unit.release.conftest import NOW
from wheelmill.names import Sha256
from wheelmill.plan.targets import KnownFailure
from wheelmill.release.store import FailureFile, date_tags, is_date_tag


def test_a_day_has_as_many_tags_as_are_needed() -> None:
    tags = list(itertools.islice(date_tags(date(2026, 1, 2)), 3))
    assert tags == ["v2026-01-02", "v2026-01-02.2", "v2026-01-02.3"]
    assert all(map(is_date_tag, tags))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1.2.3",
        "v2026-13-01",
        "2026-01-02",
        "v2026-01-02.",
        "v2026-01-02.1",
        "v2026-01-02.02",
        "v2026-01-02.x",
        "v20260102",
        "v2026-01-02-rc1",
        "v2026-W01-1",
    ],
)
def test_other_tags_are_of_other_releases(text: str) -> None:
    assert not is_date_tag(text)


FIRST, SECOND = Sha256("1" * 64), Sha256("2" * 64)
FAILURE = KnownFailure(id="demo", target=Sha256("0" * 64), failed_at=NOW, reason="demo.cpp:1:1: error: no")


def test_failures_are_added_to_those_before(tmp_path: Path) -> None:
    file = FailureFile(path=tmp_path / "failures.json")
    for identity in (FIRST, SECOND):
        file.remember(identity, FAILURE)
    assert file.read().by_inputs == {FIRST: FAILURE, SECOND: FAILURE}


@pytest.mark.parametrize("content", ["{", '{"by_inputs": {"1": {"id": "demo", "failed_at": "2026-11-20T00:00:00Z"}}}'])
def test_a_file_that_is_broken_or_older_than_this_version_is_as_good_as_none(content: str, tmp_path: Path) -> None:
    file = FailureFile(path=tmp_path / "failures.json")
    file.path.write_text(content)
    assert file.read().by_inputs == {}
    file.remember(FIRST, FAILURE)
    assert file.read().by_inputs == {FIRST: FAILURE}
