"""Lease that lets one publisher run at a time across machines.

The ledger records the lease with the holder's random number and the time of its last heartbeat. A holder that is silent
for too long counts as dead, and the next publisher takes over. If the old holder wakes up after all, it notices before
its next change and stops.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import Lease, LedgerState
from wheelmill.system.progress import Clock, Progress

PUBLISHING: Final = "publishing"
"""The name of the one lease that publishers share."""
_POLLED: Final = timedelta(minutes=1)


class Turn:
    """Publish lease of one publisher.

    Args:
        ledger: holds the lease.
        clock: gives the time and waits.
        progress: receives a message while waiting.
        until: when waiting ends, in seconds since the epoch; None if there is no limit.
        stale: the silence after which a holder counts as dead.
    """

    def __init__(
        self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None, *, stale: timedelta
    ) -> None:
        self._ledger, self._clock, self._progress, self._stale = ledger, clock, progress, stale
        self.until = until
        self._nonce = uuid.uuid4().hex
        self._heard = self._now()
        self.tag: ReleaseTag | None = None
        """What is being published; noted in the ledger at the next renewal."""
        self.draft: int | None = None

    @contextmanager
    def taken(self) -> Iterator[frozenset[ReleaseTag]]:
        """Hold the lease while the context lasts; yield the tags of all releases in the ledger.

        Raises:
            TimeIsOver: others publish for too long. NetworkError, ReleaseError: the ledger cannot be read or changed.
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
            with suppress(NetworkError, ReleaseError):  # the lease then expires by its age
                self._ledger.change("a publisher ends", self._end)

    def go_on(self) -> None:
        """Renew the lease if it is due, and check that there is time left.

        Raises:
            TimeIsOver: no time is left.
            ReleaseError: another publisher has taken the lease.
        """
        self.wait(timedelta())
        if self._now() - self._heard > self._stale / 3:
            self.look()

    def look(self) -> None:
        """Check that the lease is still held, before a step that cannot be undone.

        Raises:
            ReleaseError: another publisher has taken the lease.
        """
        self._ledger.change("a publisher goes on", self._renew)

    def wait(self, pause: timedelta) -> None:
        """Wait, unless that exceeds the time limit.

        Raises:
            TimeIsOver: it does.
        """
        if self.until is not None and self._clock.now() + pause.total_seconds() > self.until:
            raise TimeIsOver
        self._clock.sleep(pause.total_seconds())

    def _begun(self, state: LedgerState) -> LedgerState:
        """Take the lease if it is free or its holder counts as dead."""
        lease = state.work.leases.get(PUBLISHING)
        if lease and lease.nonce != self._nonce and self._now() - lease.since < self._stale:
            return state
        return self._held(state)

    def _renew(self, state: LedgerState) -> LedgerState:
        lease = state.work.leases.get(PUBLISHING)
        if lease is None or lease.nonce != self._nonce:
            minutes = self._stale.total_seconds() / 60
            raise ReleaseError(
                "turn-lost",
                f"another publisher took over, as nothing was heard from this one for {minutes:.0f} minutes",
                hint="run this again: what is published by then is left out",
            )
        return self._held(state)

    def _held(self, state: LedgerState) -> LedgerState:
        self._heard = self._now()
        lease = Lease(nonce=self._nonce, since=self._heard, tag=self.tag, draft=self.draft)
        return replace(state, work=replace(state.work, leases={**state.work.leases, PUBLISHING: lease}))

    def _end(self, state: LedgerState) -> LedgerState:
        others = {name: lease for name, lease in state.work.leases.items() if lease.nonce != self._nonce}
        return replace(state, work=replace(state.work, leases=others))

    def _now(self) -> datetime:
        return self._clock.utc()
