"""Publish lease on GitHub, whose rate limits count for all publishers together.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import AN_HOUR, LedgerState, Reservation
from wheelmill.release.turn import Turn
from wheelmill.system.progress import Clock, Progress

STALE: Final = timedelta(minutes=75)
"""Silence after which a publisher counts as dead. One that GitHub told to wait is silent for up to an hour.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""

CHANGES_AN_HOUR: Final = 440
"""Of the 500 changes that GitHub allows; the rest are for the ledger itself, and for publishing what was sent."""
_AT_ONCE: Final = 120
"""Changes that are reserved together. Those that are not made count all the same, so they are not many."""
_VALID: Final = timedelta(minutes=10)
"""How long reserved changes may be made. They count for an hour after that."""
_SPARE: Final = 20
"""Changes that publishing what was sent may take beside those that are reserved."""


class CountedTurn(Turn):
    """Publish lease of one publisher, with the changes that it may make."""

    def __init__(self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None) -> None:
        super().__init__(ledger, clock, progress, until, stale=STALE)
        self._spare = 0
        """Changes that may be made now although they are not reserved."""
        self._left = 0
        self._valid = self._now()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Publish uploaded files, even after the time limit, with a few changes beyond the reserved ones."""
        until, self.until, self._spare = self.until, None, _SPARE
        try:
            yield
        finally:
            self.until, self._spare = until, 0

    def before_change(self) -> None:
        """Wait until the rate limit allows creating, changing or deleting one more object."""
        while self._now() > self._valid or not (self._left or self._spare):
            self._left, pause = self._reserve(_AT_ONCE)
            if not self._left and not self._spare:
                self._progress.step(
                    f"GitHub takes 500 changes an hour: waiting for {pause.total_seconds():.0f} seconds"
                )
                self.wait(pause)
        if self._left:
            self._left -= 1
        else:
            self._spare -= 1

    def _reserve(self, most: int) -> tuple[int, timedelta]:
        """Reserve up to `most` changes for some minutes; return how many, and how long to wait if none."""
        granted, pause = 0, timedelta()

        def reserve(state: LedgerState) -> LedgerState:
            nonlocal granted, pause
            now, state = self._now(), self._renew(state)
            counted = [each for each in state.work.changes if now - each.at < AN_HOUR]
            granted = max(0, min(most, CHANGES_AN_HOUR - sum(each.count for each in counted)))
            if not granted:
                pause = min(each.at for each in counted) + AN_HOUR - now
                return state
            changes = (*counted, Reservation(at=now + _VALID, count=granted))
            return replace(state, work=replace(state.work, changes=changes))

        self._ledger.change("a publisher reserves changes", reserve)
        self._valid = self._now() + _VALID
        return granted, pause
