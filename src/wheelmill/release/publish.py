"""Publishing: what no release has yet goes into new ones, delivery by delivery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import chain

from wheelmill.errors import TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
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
    published = _published(store)
    with ExitStack() as stack:
        for wheels in deliveries:
            refusals = _refusals(store, wheels, published)
            if publisher is None and _new(wheels, published, refusals):
                try:
                    publisher = stack.enter_context(store.publisher(now=now, progress=progress, until=until))
                except TimeIsOver:
                    return _sum(done, over=True)
                published = _published(store)  # what others did until now
                refusals = _refusals(store, wheels, published)
            done.append(Publication(releases=(), refusals=tuple(refusals.values())))
            if publisher is not None:
                new = _new(wheels, published, refusals)
                done += _add(publisher, new, store.quotas.wheels or max(1, len(new)))
                if publisher.over:
                    break
        if publisher is not None and publisher.count:
            done.append(publisher.publish())
    return _sum(done, over=publisher is not None and publisher.over)


def _add(publisher: Publisher, wheels: Sequence[TestedWheel], most: int) -> Iterator[Publication]:
    """Put wheels into releases of so many wheels at most, and publish those that are full."""
    while wheels and not publisher.over:
        room = most - publisher.count
        yield Publication(releases=(), refusals=publisher.add(wheels[:room]))
        wheels = wheels[room:]
        if publisher.count == most and not publisher.over:
            yield publisher.publish()


def _sum(done: Sequence[Publication], *, over: bool) -> Publication:
    return Publication(
        releases=tuple(chain(*(each.releases for each in done))),
        refusals=tuple(chain(*(each.refusals for each in done))),
        over=over,
    )


def _published(store: Store) -> _Published:
    return {entry.filename: (entry.sha256, manifest.tag) for manifest in store.manifests() for entry in manifest.wheels}


def _refusals(store: Store, wheels: Iterable[TestedWheel], published: _Published) -> dict[str, RefusedWheel]:
    """Why some wheels cannot be released, by file name."""
    refusals: dict[str, RefusedWheel] = {}
    for file in (wheel.file for wheel in wheels):
        sha256, tag = published.get(file.filename, (file.sha256, None))
        changed = f"was published in {tag} with other bytes; a published wheel never changes: raise the version"
        if reason := changed if sha256 != file.sha256 else store.reason_to_refuse(file):
            refusals[file.filename] = RefusedWheel(filename=file.filename, reason=reason)
    return refusals


def _new(
    wheels: Iterable[TestedWheel], published: _Published, refusals: Mapping[str, RefusedWheel]
) -> list[TestedWheel]:
    new = (each for each in wheels if each.file.filename not in published and each.file.filename not in refusals)
    return sorted(new, key=lambda wheel: wheel.file.filename)
