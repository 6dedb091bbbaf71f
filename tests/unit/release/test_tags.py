"""Tags of days."""

import itertools
from datetime import date

import pytest

from wheelmill.release.tags import date_tags, is_date_tag


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
