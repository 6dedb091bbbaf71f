"""The ledger: read as a whole, and changed by a function of its newest state.

A change reads the state, makes the next one and writes that on the condition that nobody was faster; else it starts
again. So a change happens whole or not at all, however many writers there are and wherever they are killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from wheelmill.errors import IntegrityError, NetworkError, ReleaseError, UnreadableError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.archive import read_archive
from wheelmill.release.ledger.files import files_of, manifests_in, state_of
from wheelmill.release.ledger.records import LedgerState
from wheelmill.system.progress import Clock

PAUSES: Final = (0.0, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before each try of a change: of several concurrent ones, one succeeds each time."""

Edit = Callable[[LedgerState], LedgerState]
"""Makes the next state of a ledger. It is called again if somebody else was faster, or if the write may have been lost,
so it must be idempotent."""


class LedgerPlace(Protocol):
    """A place that keeps the files of a ledger."""

    @property
    def name(self) -> str:
        """The path or URL that messages name."""

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """Read the newest state.

        Args:
            seen: the state that is known already, whose files are not wanted again.

        Returns:
            The revision, None if there is no ledger yet; and its files in one packed archive, None if there are none or
            they are known.

        Raises:
            NetworkError: they cannot be read now.
            ReleaseError: the place cannot be read.
        """

    def write(
        self, revision: str | None, before: Mapping[str, bytes], after: Mapping[str, bytes], why: str
    ) -> str | None:
        """Write the next state.

        Args:
            revision: what `read` named the state that is changed.
            before: the files of that state, by path; none where they could not be read.
            after: the files of the next state.
            why: the change in words, for those who read the history.

        Returns:
            The revision of the next state; None if it was not written, because somebody else was faster.

        Raises:
            NetworkError: the place does not answer; the change may have been made.
            ReleaseError: the place cannot be written to.
        """


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """A state of the ledger that was read or written."""

    revision: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    state: LedgerState = field(default_factory=LedgerState)


class Ledger:
    """The ledger of a store."""

    def __init__(self, place: LedgerPlace, clock: Clock) -> None:
        self.place = place
        self._clock = clock
        self._opened = _Opened()

    def read(self) -> LedgerState:
        """Read all of it.

        Raises:
            NetworkError: it cannot be read now.
            ReleaseError: what is there is not a ledger.
        """
        return self._open().state

    def manifests(self) -> dict[ReleaseTag, Sha256]:
        """Read the hash of the manifest of every release, and nothing else: most of a ledger is about wheels.

        Raises:
            NetworkError: it cannot be read now.
            ReleaseError: what is there is not a ledger.
        """
        _, archive = self.place.read(None)
        try:
            return manifests_in(read_archive(archive)) if archive else {}
        except (UnreadableError, IntegrityError) as error:
            raise self._no_ledger(error) from None

    def revision_of(self, state: LedgerState) -> str | None:
        """The revision of a state; None unless it is the one that was read or written last."""
        return self._opened.revision if state is self._opened.state else None

    def change(self, why: str, edit: Edit, *, repair: bool = False) -> LedgerState:
        """Make a change, on the newest state.

        Args:
            why: the change in words, for those who read the history.
            edit: makes the next state.
            repair: whether a ledger that cannot be read is taken for an empty one.

        Returns:
            The state that was written, or that was there when the change had nothing to do.

        Raises:
            NetworkError: the ledger cannot be read now.
            ReleaseError: what is there is not a ledger, it cannot be written to, or others were first each time.
        """
        failure: NetworkError | None = None
        for pause in PAUSES:
            if pause:
                self._clock.sleep(pause)
            opened = self._open(repair=repair)
            after = edit(opened.state)
            if after == opened.state and (opened.files or opened.revision is None):
                return after
            after = after.without_old(self._clock.utc())
            files = files_of(after, opened.files, opened.state)
            try:
                revision = self.place.write(opened.revision, opened.files, files, why)
            except NetworkError as error:  # the next look shows whether it was made
                failure = error
                continue
            if revision is not None:
                self._opened = _Opened(revision=revision, files=files, state=after)
                return after
        raise failure or ReleaseError(
            "ledger-contended",
            f"{self.place.name}: others changed it during each of {len(PAUSES)} attempts",
            hint="run this again",
        )

    def _open(self, *, repair: bool = False) -> _Opened:
        """Read the newest state; files that were read or written last are not read again."""
        revision, archive = self.place.read(self._opened.revision)
        if archive is None:
            return self._opened if revision else _Opened()
        try:
            files = read_archive(archive)
            self._opened = _Opened(revision=revision, files=files, state=state_of(files))
        except (UnreadableError, IntegrityError) as error:
            if repair:
                return _Opened(revision=revision)
            raise self._no_ledger(error) from None
        return self._opened

    def _no_ledger(self, error: Exception) -> ReleaseError:
        hint = "make it again from the releases: wheelmill release ledger --rebuild --store STORE"
        return ReleaseError("not-a-ledger", f"{self.place.name} is not a ledger: {error}", hint=hint)
