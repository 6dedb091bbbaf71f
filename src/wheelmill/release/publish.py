"""Publishing: what is new goes under a new tag; what is published stays as it is."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from wheelmill.errors import ReleaseError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.plan.records import Cell, PastBuild
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.records import Manifest, ManifestEntry
from wheelmill.smoke.records import TestedWheel
from wheelmill.wheel.metadata import metadata_bytes, read_metadata

MAX_WHEELS: Final = 240
"""In one release: GitHub allows 1,000 assets in each and 500 new ones an hour, and every wheel is two."""


def publish(store: DirectoryStore, wheels: Sequence[TestedWheel], *, now: datetime) -> tuple[Manifest, ...]:
    """Release the wheels that no release has yet.

    Args:
        store: where releases are kept.
        wheels: what passed smoke.
        now: the time of publication, in UTC.

    Returns:
        The new releases; none when every wheel was published before, byte for byte.

    Raises:
        ReleaseError: a published wheel of the same name has other bytes.
    """
    earlier = store.manifests()
    published = {entry.filename: (entry.sha256, manifest.tag) for manifest in earlier for entry in manifest.wheels}
    clashes = [
        f"{wheel.file.filename} was published in {published[wheel.file.filename][1]} with other bytes"
        for wheel in wheels
        if published.get(wheel.file.filename, (wheel.file.sha256,))[0] != wheel.file.sha256
    ]
    if clashes:
        raise ReleaseError("\n".join(clashes), hint="a published wheel never changes: raise the version")
    new = sorted((wheel for wheel in wheels if wheel.file.filename not in published), key=lambda w: w.file.filename)
    tags = _free_tags(now, {manifest.tag for manifest in earlier})
    manifests = []
    for first in range(0, len(new), MAX_WHEELS):
        batch = new[first : first + MAX_WHEELS]
        manifest = Manifest(
            tag=next(tags),
            published_at=now.replace(microsecond=0),
            wheels=tuple(_entry_of(wheel) for wheel in batch),
        )
        store.publish(manifest, batch)
        manifests.append(manifest)
    return tuple(manifests)


def published_cells(manifests: Sequence[Manifest]) -> dict[Cell, ReleaseTag]:
    """Which cells of the matrix are published, and in which release."""
    return {
        replace(provenance.cell, python=python): manifest.tag
        for manifest in manifests
        for entry in manifest.wheels
        if (provenance := entry.certificate.provenance)
        for python in provenance.pythons
    }


def past_builds(manifests: Sequence[Manifest]) -> tuple[PastBuild, ...]:
    """What the published wheels cost, to judge new plans by."""
    return tuple(
        PastBuild(project=provenance.cell.project, seconds=provenance.seconds, size=entry.size)
        for manifest in manifests
        for entry in manifest.wheels
        if (provenance := entry.certificate.provenance)
    )


def _entry_of(wheel: TestedWheel) -> ManifestEntry:
    metadata = metadata_bytes(wheel.file.path)
    requires_python = read_metadata(metadata).requires_python
    return ManifestEntry(
        filename=wheel.file.filename,
        sha256=wheel.file.sha256,
        size=wheel.file.size,
        metadata_sha256=Sha256(hashlib.sha256(metadata).hexdigest()),
        requires_python=str(requires_python) if requires_python is not None else None,
        certificate=wheel.certificate,
    )


def _free_tags(now: datetime, used: set[ReleaseTag]) -> Iterator[ReleaseTag]:
    """``v2026-11-21``, then ``v2026-11-21.2``, ``.3``: those that no release has."""
    day = f"v{now:%Y-%m-%d}"
    for number in itertools.count(1):
        tag = ReleaseTag(day if number == 1 else f"{day}.{number}")
        if tag not in used:
            yield tag
