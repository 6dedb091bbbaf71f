"""A publisher's turn: one publishes at a time, on whatever machine, and GitHub's limits count for all of them together.

The ledger says whose turn it is, by a number that only that one knows and the time when it last said that it goes on.
Who says nothing for too long has ended, and the next one takes the turn; should it wake up after all, it finds out
before its next change and stops.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import AN_HOUR, Lease, LedgerState, Reservation
from wheelmill.system.progress import Progress
from wheelmill.system.time import Clock

PUBLISHING: Final = "publishing"
"""The name of the one lease that publishers share."""
STALE: Final = timedelta(minutes=75)
"""After that somebody who says nothing has ended. Who is told to wait may not even say so: that is an hour at most.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately
"""
_POLLED: Final = timedelta(minutes=1)

CHANGES_AN_HOUR: Final = 440
"""Of the 500 that GitHub allows; the others are for the ledger itself, and for publishing what was sent."""
_AT_ONCE: Final = 120
"""Changes that are reserved together. Those that are not made count all the same, so they are not many."""
_VALID: Final = timedelta(minutes=10)
"""In which reserved changes are made. They count for an hour after that."""
_SPARE: Final = 20
"""Changes that publishing what was sent may take beside those that are reserved."""


class Turn:
    """One publisher's turn."""

    def __init__(self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None) -> None:
        self._ledger, self._clock, self._progress = ledger, clock, progress
        self.until = until
        """When waiting ends, in seconds since the epoch; None waits as long as it takes."""
        self._nonce = uuid.uuid4().hex
        self._spare = 0
        """Changes that may be made now although they are not reserved."""
        self._left = 0
        self._valid = self._now()
        self.tag: ReleaseTag | None = None
        """What is being published, for those who look at the ledger."""
        self.draft: int | None = None

    @contextmanager
    def taken(self) -> Iterator[frozenset[ReleaseTag]]:
        """Have the turn while the context lasts; gives the tags of all releases that the ledger has.

        Raises:
            TimeIsOver: others go on for too long.
            NetworkError, ReleaseError: the ledger cannot be read or changed.
        """
        while True:
            state = self._ledger.change("a publisher begins", self._begun)
            if (lease := state.work.leases[PUBLISHING]).nonce == self._nonce:
                break
            self._progress.step(f"waiting for another publisher, which was at work at {lease.since:%H:%M} UTC")
            self.wait(_POLLED)
        try:
            yield frozenset(state.releases)
        finally:
            with suppress(NetworkError, ReleaseError):  # then it ends by its age
                self._ledger.change("a publisher ends", self._ended)

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Publish what was sent, whatever the time is, with a few changes beside those that are reserved."""
        until, self.until, self._spare = self.until, None, _SPARE
        try:
            yield
        finally:
            self.until, self._spare = until, 0

    def before_change(self) -> None:
        """Wait until one more thing may be created, changed or deleted.

        Raises:
            TimeIsOver: that is too late.
            ReleaseError: somebody else has taken the turn.
        """
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

    def look(self) -> None:
        """Look once more, before what cannot be taken back.

        Raises:
            ReleaseError: somebody else has taken the turn.
        """
        self._ledger.change("a publisher goes on", self._renewed)

    def wait(self, pause: timedelta) -> None:
        """Wait, unless that is too long.

        Raises:
            TimeIsOver: it is.
        """
        if self.until is not None and self._clock.now() + pause.total_seconds() > self.until:
            raise TimeIsOver
        self._clock.sleep(pause.total_seconds())

    def _reserve(self, most: int) -> tuple[int, timedelta]:
        """Reserve changes, for some minutes.

        Returns:
            How many, which may be none; and how long to wait then.
        """
        granted, pause = 0, timedelta()

        def reserve(state: LedgerState) -> LedgerState:
            nonlocal granted, pause
            now, state = self._now(), self._renewed(state)
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

    def _begun(self, state: LedgerState) -> LedgerState:
        """Take the turn, if nobody has it or who had it says nothing any more."""
        lease = state.work.leases.get(PUBLISHING)
        if lease and lease.nonce != self._nonce and self._now() - lease.since < STALE:
            return state
        return self._held(state)

    def _renewed(self, state: LedgerState) -> LedgerState:
        lease = state.work.leases.get(PUBLISHING)
        if lease is None or lease.nonce != self._nonce:
            minutes = STALE.total_seconds() / 60
            raise ReleaseError(
                f"another publisher took over, as nothing was heard from this one for {minutes:.0f} minutes",
                hint="run this again: what is published by then is left out",
            )
        return self._held(state)

    def _held(self, state: LedgerState) -> LedgerState:
        lease = Lease(nonce=self._nonce, since=self._now(), tag=self.tag, draft=self.draft)
        return replace(state, work=replace(state.work, leases={**state.work.leases, PUBLISHING: lease}))

    def _ended(self, state: LedgerState) -> LedgerState:
        others = {name: lease for name, lease in state.work.leases.items() if lease.nonce != self._nonce}
        return replace(state, work=replace(state.work, leases=others))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)
