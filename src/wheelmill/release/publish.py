"""Publishing: what no release has yet goes into new ones, delivery by delivery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from itertools import chain

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.records import LedgerRelease
from wheelmill.release.ledger.releases import line_of, published, with_releases
from wheelmill.release.store import Publication, Publisher, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import QUIET, Progress

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
) -> Publication:
    """Release the wheels that no release has yet.

    Args:
        store: the store that gets the new releases.
        deliveries: the wheels that passed smoke; those of each delivery are on disk until the next one is asked for.
        now: the time of publication, in UTC.
        progress: shows the steps that take long.
        until: when no more wheels are taken, in seconds since the epoch; what arrived by then is published.

    Returns:
        The new releases, none when every wheel was published before, byte for byte; and the wheels that cannot be
        released, such as one whose name was published with other bytes.

    Raises:
        ReleaseError: the store cannot be read or written.
    """
    done: list[Publication] = []
    publisher: Publisher | None = None
    known = published(store, progress.step)
    there = known.published
    record = partial(_record, store, progress, known.releases)
    with ExitStack() as stack:
        for wheels in deliveries:
            refusals = _refusals(store, wheels, there)
            if publisher is None and _new(wheels, there, refusals):
                try:
                    publisher = stack.enter_context(store.publisher(now=now, progress=progress, until=until))
                except TimeIsOver:
                    return _sum(done, over=True)
                there = published(store, progress.step).published  # what others did until now
                refusals = _refusals(store, wheels, there)
            done.append(Publication(releases=(), refusals=tuple(refusals.values())))
            if publisher is not None:
                new = _new(wheels, there, refusals)
                done += _add(publisher, new, store.quotas.wheels or max(1, len(new)), record)
                if publisher.over:
                    break
        if publisher is not None and publisher.count:
            done.append(record(publisher.publish()))
    return _sum(done, over=publisher is not None and publisher.over)


def _add(
    publisher: Publisher, wheels: Sequence[TestedWheel], most: int, record: Callable[[Publication], Publication]
) -> Iterator[Publication]:
    """Put wheels into releases of so many wheels at most, and publish and write down those that are full."""
    while wheels and not publisher.over:
        room = most - publisher.count
        yield Publication(releases=(), refusals=publisher.add(wheels[:room]))
        wheels = wheels[room:]
        if publisher.count == most and not publisher.over:
            yield record(publisher.publish())


def _sum(done: Sequence[Publication], *, over: bool) -> Publication:
    return Publication(
        releases=tuple(chain(*(each.releases for each in done))),
        refusals=tuple(chain(*(each.refusals for each in done))),
        over=over,
    )


def _record(
    store: Store, progress: Progress, known: Mapping[ReleaseTag, LedgerRelease], publication: Publication
) -> Publication:
    """Write down what was published, now and before. Who reads the ledger finds releases that it lacks, too."""
    new = {manifest.tag: line_of(manifest) for manifest in publication.releases}
    try:
        store.ledger.change(f"{', '.join(new)} published", lambda state: with_releases(state, {**known, **new}))
    except (NetworkError, ReleaseError) as error:
        progress.step(f"published, but not written to the ledger: {error.explained}")
    return publication


def _refusals(store: Store, wheels: Iterable[TestedWheel], there: _Published) -> dict[str, RefusedWheel]:
    """Why some wheels cannot be released, by file name."""
    refusals: dict[str, RefusedWheel] = {}
    for file in (wheel.file for wheel in wheels):
        sha256, tag = there.get(file.filename, (file.sha256, None))
        changed = f"was published in {tag} with other bytes; a published wheel never changes: raise the version"
        if reason := changed if sha256 != file.sha256 else store.reason_to_refuse(file):
            refusals[file.filename] = RefusedWheel(filename=file.filename, reason=reason)
    return refusals


def _new(wheels: Iterable[TestedWheel], there: _Published, refusals: Mapping[str, RefusedWheel]) -> list[TestedWheel]:
    new = (each for each in wheels if each.file.filename not in there and each.file.filename not in refusals)
    return sorted(new, key=lambda wheel: wheel.file.filename)
