"""Publishing: wheels that no release has yet go into new releases, delivery by delivery."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.records import LedgerRelease
from wheelmill.release.ledger.releases import line_of, published, with_releases
from wheelmill.release.manifest import entry_of, faults_of_wheel, listed_of, manifest_of
from wheelmill.release.store import Publication, Publisher, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import QUIET, Progress
from wheelmill.system.records import record_bytes
from wheelmill.wheel.name import name_without_label

_Published = Mapping[str, tuple[Sha256, ReleaseTag]]
"""The hash of every published wheel and the release that has it, by file name."""


def publish(store: Store, wheels: Sequence[TestedWheel], *, now: datetime, progress: Progress = QUIET) -> Publication:
    """Release the wheels that no release has yet; see `publish_each`."""
    return publish_each(store, [wheels], now=now, progress=progress)


def publish_each(
    store: Store,
    deliveries: Iterable[Sequence[TestedWheel]],
    *,
    now: datetime,
    progress: Progress = QUIET,
    until: float | None = None,
    together: int | None = None,
) -> Publication:
    """Release the wheels that no release has yet.

    Args:
        store: the store that gets the new releases.
        deliveries: the wheels that passed smoke; those of each delivery are on disk until the next one is asked for.
        now: the time of publication, in UTC.
        progress: shows the steps that take long.
        until: when to stop taking wheels, in seconds since the epoch; what has arrived by then is published.
        together: how many wheels make a release in a store without a limit; by default those of one delivery, so that
            no later one can hold them up.

    Returns:
        The new releases, none when every wheel was published before, byte for byte; and the wheels that cannot be
        released, such as one whose name was published with other bytes.

    Raises:
        ReleaseError: the store cannot be read or written.
    """
    known = published(store, progress.step)
    there = known.published
    publisher: Publisher | None = None
    done = Publication()
    with ExitStack() as stack:
        for wheels in deliveries:
            new, refused = _sort(store, wheels, there)
            if new and publisher is None:
                try:
                    publisher = stack.enter_context(store.publisher(now=now, progress=progress, until=until))
                except TimeIsOver:
                    return replace(done, over=True)
                there = published(store, progress.step).published  # what others did until now
                new, refused = _sort(store, wheels, there)
            done += Publication(refusals=refused)
            while publisher and new and not publisher.over:
                most = store.quotas.wheels or together or len(new)
                room = most - publisher.count
                done += Publication(refusals=publisher.add(new[:room]))
                new = new[room:]
                if publisher.count == most and not publisher.over:
                    done += _finish(publisher, store, known.releases, progress)
            if publisher and publisher.over:
                break
        if publisher and publisher.count:
            done += _finish(publisher, store, known.releases, progress)
    return replace(done, over=publisher is not None and publisher.over)


def _finish(
    publisher: Publisher, store: Store, known: Mapping[ReleaseTag, LedgerRelease], progress: Progress
) -> Publication:
    """Publish a release, and record in the ledger what was published, now and before: it may lack some of that."""
    publication = publisher.publish()
    new = {
        manifest.tag: line_of(listed_of(manifest), sha256_of_bytes(record_bytes(manifest)))
        for manifest in publication.releases
    }
    try:
        store.ledger.change(f"{', '.join(new)} published", lambda state: with_releases(state, {**known, **new}))
    except (NetworkError, ReleaseError) as error:
        progress.step(f"published, but not written to the ledger: {error.explained}")
    return publication


def _sort(
    store: Store, wheels: Iterable[TestedWheel], there: _Published
) -> tuple[list[TestedWheel], tuple[RefusedWheel, ...]]:
    """Find the wheels that are new, by file name, and those that must be refused."""
    new: list[TestedWheel] = []
    refused: list[RefusedWheel] = []
    for wheel in sorted(wheels, key=lambda wheel: wheel.file.filename):
        file = wheel.file
        sha256, tag = there.get(file.filename, (file.sha256, None))
        changed = f"was published in {tag} with other bytes; a published wheel never changes: raise the version"
        if reason := changed if sha256 != file.sha256 else store.reason_to_refuse(file) or _unlistable(wheel):
            refused.append(RefusedWheel(filename=file.filename, code="not-publishable", reason=reason))
        elif tag is None:
            new.append(wheel)
    return new, tuple(refused)


def _unlistable(wheel: TestedWheel) -> str | None:
    """Why no index would list a wheel; None if all would."""
    try:
        manifest = manifest_of(ReleaseTag(""), [entry_of(wheel)], now=datetime.now(UTC))
        (entry,) = listed_of(manifest).wheels
        faults = faults_of_wheel(entry, name_without_label(entry.filename))
    except (ReleaseError, ValueError) as error:
        faults = str(error).splitlines()
    return f"would be listed by no index: {'; '.join(faults)}" if faults else None
