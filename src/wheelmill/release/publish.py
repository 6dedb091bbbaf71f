"""Publishing: wheels that no release has yet go into new releases, delivery by delivery.

A rebuilt wheel reaches users of the first one by its build number (PEP 427).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from wheelmill.build.provenance import BuiltWheel, keep_provenance, provenance_path
from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.records import LedgerRelease
from wheelmill.release.ledger.releases import line_of, published, with_releases
from wheelmill.release.manifest.record import entry_of, manifest_bytes, manifest_of
from wheelmill.release.manifest.rules import faults_of_wheel, listed_of
from wheelmill.release.store import Publication, Publisher, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import QUIET, Progress
from wheelmill.wheel.archive import unpack
from wheelmill.wheel.name import WheelFile, WheelName, name_without_label
from wheelmill.wheel.record import pack_wheel

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
    """Release the wheels that passed smoke and that no release has yet; see also `Store.publisher`.

    A delivery stays on disk until the next one is requested. No more wheels are accepted after `until`; those that
    arrived by then are published. A store without a limit puts as many wheels `together` into a release; by default
    those of one delivery, so that no later delivery can hold them up.

    Wheels that are published already byte for byte are in no new release. Wheels that cannot be released are refused,
    such as one whose name was published with different content. Raises ReleaseError if the store cannot be read or
    written.
    """
    known = published(store, progress.step)
    taken = known.published
    publisher: Publisher | None = None
    done = Publication()
    with ExitStack() as stack:
        for wheels in deliveries:
            new, refused = _sort(store, wheels, taken)
            if new and publisher is None:
                try:
                    publisher = stack.enter_context(store.publisher(now=now, progress=progress, until=until))
                except TimeIsOver:
                    return replace(done, over=True)
                taken = published(store, progress.step).published  # others may have published since the first read
                new, refused = _sort(store, wheels, taken)
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
    """Publish a release; record it in the ledger, with earlier releases that the ledger may lack."""
    publication = publisher.publish()
    new = {
        manifest.tag: line_of(listed_of(manifest), sha256_of_bytes(manifest_bytes(manifest)))
        for manifest in publication.releases
    }
    try:
        store.ledger.change(f"{', '.join(new)} published", lambda state: with_releases(state, {**known, **new}))
    except (NetworkError, ReleaseError) as error:
        progress.step(f"published, but not written to the ledger: {error.explained}")
    return publication


def _sort(
    store: Store, wheels: Iterable[TestedWheel], taken: _Published
) -> tuple[list[TestedWheel], tuple[RefusedWheel, ...]]:
    """Separate new wheels, by file name, from those that must be refused."""
    new: list[TestedWheel] = []
    refused: list[RefusedWheel] = []
    for wheel in sorted(wheels, key=lambda wheel: wheel.file.filename):
        file = wheel.file
        sha256, tag = taken.get(file.filename, (file.sha256, None))
        changed = f"is already published in {tag} with different content, which never changes: bump the version"
        if reason := changed if sha256 != file.sha256 else store.reason_to_refuse(file) or _unlistable(wheel):
            refused.append(RefusedWheel(filename=file.filename, code="not-publishable", reason=reason))
        elif tag is None:
            new.append(wheel)
    return new, tuple(refused)


def _unlistable(wheel: TestedWheel) -> str | None:
    """Return the reason why no index would list a wheel; None if all would."""
    try:
        (entry,) = listed_of(manifest_of(ReleaseTag(""), [entry_of(wheel)], now=datetime.now(UTC))).wheels
        faults = faults_of_wheel(entry, name_without_label(entry.filename))
    except (ReleaseError, ValueError) as error:
        faults = str(error).splitlines()
    return f"would be listed by no index: {'; '.join(faults)}" if faults else None


def assign_build_number(built: BuiltWheel, published: Mapping[str, Sha256]) -> BuiltWheel | None:
    """Give a new wheel a name that it can be published under: if its content differs, the next build number.

    The first wheel of a name is unchanged; None if its latest build is published byte for byte.
    """
    own = WheelName.parse(built.file.filename)
    others = (WheelName.parse(filename) for filename in published)
    latest = max((other.build[:1] or (0,) for other in others if structs.replace(other, build=()) == own), default=None)
    if latest is None:
        return built
    if _is_published(built.file, latest[0], published):
        return None
    file = with_build_number(built.file, latest[0] + 1, built.file.path.parent)
    rebuilt = BuiltWheel(file=file, provenance=replace(built.provenance, sha256=file.sha256))
    keep_provenance(rebuilt)
    built.file.path.unlink()
    provenance_path(built.file.path).unlink()
    return rebuilt


def _is_published(file: WheelFile, number: int, published: Mapping[str, Sha256]) -> bool:
    """True if the wheel, under the latest build number, has the published bytes; 1.0 may be published as 1.0.0."""
    if number == 0:
        return published.get(file.filename) == file.sha256
    with temporary_folder() as folder:
        again = with_build_number(file, number, folder)
        return published.get(again.filename) == again.sha256


def with_build_number(file: WheelFile, number: int, output: Path) -> WheelFile:
    """Add a build number of 1 or more to a wheel without one: in its file name, in WHEEL and in RECORD."""
    name = structs.replace(WheelName.parse(file.filename), build=(number, ""))
    with temporary_folder() as unpacked:
        unpack(file.path, unpacked)
        (dist_info,) = unpacked.glob("*.dist-info")
        wheel = dist_info / "WHEEL"
        wheel.write_bytes(wheel.read_bytes().rstrip(b"\r\n") + f"\nBuild: {number}\n".encode())
        return WheelFile.at(pack_wheel(dist_info, output / name.filename))
