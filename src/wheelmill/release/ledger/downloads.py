"""How often wheels were downloaded: the host has totals, and the ledger keeps them by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, Protocol, runtime_checkable

from wheelmill.names import ProjectName
from wheelmill.release.ledger.records import DownloadCount, LedgerState
from wheelmill.wheel.name import WheelName

_EVERY_ONE: Final = timedelta(days=400)
"""How long every count is kept; of older ones, the first of each month, since a ledger is always read whole."""


@runtime_checkable
class CountsDownloads(Protocol):
    """A place for releases that counts downloads."""

    def downloads(self) -> Mapping[str, int]:
        """How often each published file was downloaded until now, by its name; of all releases that have it.

        Raises:
            NetworkError: the host does not say.
        """


def of_projects(downloads: Mapping[str, int]) -> Mapping[ProjectName, int]:
    """The wheels among files, by their projects; sidecars are asked for by installers that only look."""
    counts: Counter[ProjectName] = Counter()
    for filename, count in downloads.items():
        try:
            counts[WheelName.parse(filename).project] += count
        except ValueError:
            continue
    return dict(sorted(counts.items()))


def with_count(state: LedgerState, count: DownloadCount) -> LedgerState:
    """The ledger with one more count, which replaces one of the same day; old ones are thinned out."""
    others = [each for each in state.downloads if each.day != count.day]
    kept = _thin_out(sorted((*others, count), key=lambda each: each.day), count.day)
    return replace(state, downloads=tuple(kept))


def _thin_out(counts: Iterable[DownloadCount], today: date) -> Iterable[DownloadCount]:
    months: set[tuple[int, int]] = set()
    for each in counts:
        month = (each.day.year, each.day.month)
        if today - each.day < _EVERY_ONE or month not in months:
            yield each
        months.add(month)
