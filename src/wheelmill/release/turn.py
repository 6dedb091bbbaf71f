"""A publisher's turn: one publishes at a time, on whatever machine.

The ledger says whose turn it is, by a number that only that one knows and the time when it last said that it goes on.
Who says nothing for too long has ended, and the next one takes the turn; should it wake up after all, it finds out
before its next change and stops.
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
from wheelmill.release.ledger.records import Lease, LedgerState
from wheelmill.system.progress import Progress
from wheelmill.system.time import Clock

PUBLISHING: Final = "publishing"
"""The name of the one lease that publishers share."""
_POLLED: Final = timedelta(minutes=1)


class Turn:
    """One publisher's turn.

    Args:
        ledger: says whose turn it is.
        clock: tells the time and waits.
        progress: told of waiting.
        until: when waiting ends, in seconds since the epoch; None waits as long as it takes.
        stale: after that, somebody who says nothing has ended.
    """

    def __init__(
        self, ledger: Ledger, clock: Clock, progress: Progress, until: float | None = None, *, stale: timedelta
    ) -> None:
        self._ledger, self._clock, self._progress, self._stale = ledger, clock, progress, stale
        self.until = until
        self._nonce = uuid.uuid4().hex
        self._heard = self._now()
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

    def go_on(self) -> None:
        """Say so, if nothing was said for some time, and go on unless the time is over.

        Raises:
            TimeIsOver: it is.
            ReleaseError: somebody else has taken the turn.
        """
        self.wait(timedelta())
        if self._now() - self._heard > self._stale / 3:
            self.look()

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

    def _begun(self, state: LedgerState) -> LedgerState:
        """Take the turn, if nobody has it or who had it says nothing any more."""
        lease = state.work.leases.get(PUBLISHING)
        if lease and lease.nonce != self._nonce and self._now() - lease.since < self._stale:
            return state
        return self._held(state)

    def _renewed(self, state: LedgerState) -> LedgerState:
        lease = state.work.leases.get(PUBLISHING)
        if lease is None or lease.nonce != self._nonce:
            minutes = self._stale.total_seconds() / 60
            raise ReleaseError(
                f"another publisher took over, as nothing was heard from this one for {minutes:.0f} minutes",
                hint="run this again: what is published by then is left out",
            )
        return self._held(state)

    def _held(self, state: LedgerState) -> LedgerState:
        self._heard = self._now()
        lease = Lease(nonce=self._nonce, since=self._heard, tag=self.tag, draft=self.draft)
        return replace(state, work=replace(state.work, leases={**state.work.leases, PUBLISHING: lease}))

    def _ended(self, state: LedgerState) -> LedgerState:
        others = {name: lease for name, lease in state.work.leases.items() if lease.nonce != self._nonce}
        return replace(state, work=replace(state.work, leases=others))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)
