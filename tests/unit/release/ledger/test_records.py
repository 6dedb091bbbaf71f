"""How often wheels were downloaded, as the ledger keeps it."""

from collections.abc import Mapping
from datetime import date, timedelta

from wheelmill.names import ProjectName, project_name
from wheelmill.release.ledger.ledger import files_of, state_of
from wheelmill.release.ledger.records import DownloadCount, LedgerState, of_projects, with_count

TODAY = date(2026, 11, 22)
DEMO = project_name("demo")


def count(day: date, downloads: int) -> DownloadCount:
    return DownloadCount(day=day, projects={DEMO: downloads})


def test_wheels_count_and_nothing_beside_them() -> None:
    downloads = {
        "demo-1.0+cu130-py3-none-any.whl": 3,
        "demo-1.0+cu130-1-py3-none-any.whl": 4,
        "other-1.0-py3-none-any.whl": 0,
        "demo-1.0+cu130-py3-none-any.whl.metadata": 500,
        "manifest.json": 70,
        "no.whl": 7,
    }
    expected: Mapping[ProjectName, int] = {DEMO: 7, project_name("other"): 0}
    assert of_projects(downloads) == expected


def test_a_count_of_the_same_day_takes_the_place_of_another() -> None:
    state = with_count(with_count(LedgerState(), count(TODAY, 1)), count(TODAY, 2))
    assert state.downloads == (count(TODAY, 2),)


def test_counts_are_in_the_order_of_their_days() -> None:
    state = LedgerState()
    for days in (7, 0, 14):
        state = with_count(state, count(TODAY - timedelta(days=days), 1))
    assert [TODAY - each.day for each in state.downloads] == [timedelta(days=days) for days in (14, 7, 0)]


def test_of_what_is_long_past_one_count_of_each_month_is_kept() -> None:
    state = LedgerState()
    weeks = 52 * 10
    for week in range(weeks):
        state = with_count(state, count(TODAY - timedelta(weeks=weeks - 1 - week), week))
    assert len(state.downloads) < 58 + 12 * 9
    days = [each.day for each in state.downloads]
    assert days[0] == TODAY - timedelta(weeks=weeks - 1)
    assert sum(TODAY - day < timedelta(days=400) for day in days) == 58
    months = [(day.year, day.month) for day in days if TODAY - day >= timedelta(days=400)]
    assert len(months) == len(set(months))


def test_the_files_of_a_ledger_keep_them_and_a_ledger_without_has_no_file() -> None:
    state = with_count(LedgerState(), count(TODAY, 12))
    files = files_of(state, {}, LedgerState())
    assert state_of(files) == state
    assert "downloads.json" not in files_of(LedgerState(), {}, LedgerState())
