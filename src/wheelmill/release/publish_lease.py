"""Lease that lets one publisher run at a time across machines, and the rate limits that GitHub counts for all.

The ledger records the lease with the holder's random number and the time of its last heartbeat. A holder without one
for too long counts as dead, and the next publisher takes over. If the old holder wakes up after all, it notices before
its next change and stops.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import AN_HOUR, Lease, LedgerState, Reservation
from wheelmill.system.progress import Clock, Progress

PUBLISHING: Final = "publishing"
"""The name of the one lease that publishers share."""
_POLLED: Final = timedelta(minutes=1)


class PublishLease:
    """Publish lease, awaited until `until`, in seconds since the epoch; a holder silent for `stale` counts as dead."""

    def __init__(
        self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None, *, stale: timedelta
    ) -> None:
        self._ledger, self._clock, self._progress, self._stale = ledger, clock, progress, stale
        self.until = until
        self._nonce = uuid.uuid4().hex
        self._renewed = self._clock.utc()
        self.tag: ReleaseTag | None = None
        """Tag that is being published; noted in the ledger at the next renewal."""
        self.draft: int | None = None

    @contextmanager
    def held(self) -> Iterator[frozenset[ReleaseTag]]:
        """Hold the lease while the context lasts; yield the tags of all releases. Raises TimeIsOver after `until`."""
        while True:
            state = self._ledger.change("a publisher begins", self._take)
            if (lease := state.work.leases[PUBLISHING]).nonce == self._nonce:
                break
            self._progress.step(f"waiting for another publisher, which was at work at {lease.since:%H:%M} UTC")
            self.wait(_POLLED)
        try:
            yield frozenset(state.releases)
        finally:
            with suppress(NetworkError, ReleaseError):  # the lease then expires by its age
                self._ledger.change("a publisher ends", self._end)

    @contextmanager
    def held_now(self) -> Iterator[None]:
        """Hold the lease while the context lasts, without waiting for another publisher or for a rate limit."""
        self.until = self._clock.now()
        try:
            with self.held():
                yield
        except TimeIsOver:
            raise ReleaseError("somebody-else", "another publisher holds the lease", hint="try again later") from None

    def renew_if_due(self) -> None:
        """Renew the lease if a third of its time is over, and check that there is time left."""
        self.wait(timedelta())
        if self._clock.utc() - self._renewed > self._stale / 3:
            self.renew()

    def renew(self) -> None:
        """Renew the lease, which fails if another publisher took it, as before a step that cannot be undone."""
        self._ledger.change("a publisher renews its lease", self._renew)

    def wait(self, pause: timedelta) -> None:
        """Wait, unless that exceeds the time limit."""
        if self.until is not None and self._clock.now() + pause.total_seconds() > self.until:
            raise TimeIsOver
        self._clock.sleep(pause.total_seconds())

    def _take(self, state: LedgerState) -> LedgerState:
        lease = state.work.leases.get(PUBLISHING)
        if lease and lease.nonce != self._nonce and self._clock.utc() - lease.since < self._stale:
            return state
        return self._with_lease(state)

    def _renew(self, state: LedgerState) -> LedgerState:
        lease = state.work.leases.get(PUBLISHING)
        if lease is None or lease.nonce != self._nonce:
            silence = f"no heartbeat for {self._stale.total_seconds() / 60:.0f} minutes"
            hint = "run this again: what is published by then is left out"
            message = f"lost the publish lease: {silence}, and another publisher took over"
            raise ReleaseError("turn-lost", message, hint=hint)
        return self._with_lease(state)

    def _with_lease(self, state: LedgerState) -> LedgerState:
        self._renewed = self._clock.utc()
        lease = Lease(nonce=self._nonce, since=self._renewed, tag=self.tag, draft=self.draft)
        return replace(state, work=replace(state.work, leases={**state.work.leases, PUBLISHING: lease}))

    def _end(self, state: LedgerState) -> LedgerState:
        others = {name: lease for name, lease in state.work.leases.items() if lease.nonce != self._nonce}
        return replace(state, work=replace(state.work, leases=others))


STALE: Final = timedelta(minutes=75)
"""Silence after which a publisher counts as dead. One that waits for GitHub's rate limit is silent for up to an hour
(https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#handle-rate-limit-errors-appropriately)."""

CHANGES_AN_HOUR: Final = 440
"""Changes of the 500 that GitHub allows; the rest are for the ledger itself, and for publishing what was sent."""
_AT_ONCE: Final = 120
"""Changes that are reserved together. Those that are not made count all the same, so they are not many."""
_VALID: Final = timedelta(minutes=10)
"""Time in which reserved changes may be made. They count for an hour after that."""
_SPARE: Final = 20
"""Changes that publishing what was sent may take beside those that are reserved."""


class RateLimitedLease(PublishLease):
    """Publish lease of one publisher, with the changes that it may make."""

    def __init__(self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None) -> None:
        super().__init__(ledger, clock, progress, until, stale=STALE)
        self._spare = 0
        """Changes that may be made now although they are not reserved."""
        self._left = 0
        self._valid = self._clock.utc()

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
        while self._clock.utc() > self._valid or not (self._left or self._spare):
            self._left, pause = self._reserve()
            if not self._left and not self._spare:
                seconds = pause.total_seconds()
                self._progress.step(f"GitHub takes 500 changes an hour: waiting for {seconds:.0f} seconds")
                self.wait(pause)
        if self._left:
            self._left -= 1
        else:
            self._spare -= 1

    def _reserve(self) -> tuple[int, timedelta]:
        """Reserve changes for some minutes; return how many, and how long to wait if none."""
        granted, pause = 0, timedelta()

        def reserve(state: LedgerState) -> LedgerState:
            nonlocal granted, pause
            now, state = self._clock.utc(), self._renew(state)
            counted = [each for each in state.work.changes if now - each.at < AN_HOUR]
            granted = max(0, min(_AT_ONCE, CHANGES_AN_HOUR - sum(each.count for each in counted)))
            if not granted:
                pause = min(each.at for each in counted) + AN_HOUR - now
                return state
            changes = (*counted, Reservation(at=now + _VALID, count=granted))
            return replace(state, work=replace(state.work, changes=changes))

        self._ledger.change("a publisher reserves changes", reserve)
        self._valid = self._clock.utc() + _VALID
        return granted, pause
