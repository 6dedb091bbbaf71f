"""Stores of releases in folders, whose time stands still, and what a store has published."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from wheelmill.release.directory import DirectoryStore
from wheelmill.release.ledger.releases import Releases, every_manifest
from wheelmill.release.manifest.record import ListedRelease
from wheelmill.smoke.verdict import Evidence
from wheelmill.system.progress import Clock

NO_CODE = Evidence(
    policy="any", needed=(), glibc=None, glibcxx=None, cuda_major=None, sass=(), ptx=(), undefined_symbols=0
)
"""Of a wheel in which nothing is compiled."""


NOW: Final = datetime(2026, 11, 21, 12, 30, 15, 500_000, tzinfo=UTC)


def stopped_at(time: datetime) -> Clock:
    """A clock on which it is always the same time; nobody waits by it."""
    return Clock(now=time.timestamp, sleep=lambda _seconds: None)


def store_in(folder: Path, time: datetime = NOW) -> DirectoryStore:
    """The releases of a folder, at a time."""
    return DirectoryStore(directory=folder, clock=stopped_at(time))


def manifests_in(store: Releases, warn: Callable[[str], None] | None = None) -> tuple[ListedRelease, ...]:
    """The manifests of all releases; what is wrong with one is an error where nobody is told of it."""

    def refuse(text: str) -> None:
        raise AssertionError(text)

    tell = warn or refuse
    return tuple(every_manifest(store, store.ledger.summary().manifests, tell))
