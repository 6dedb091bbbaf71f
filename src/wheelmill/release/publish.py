"""Publishing: what is new goes under a new tag; what is published stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from wheelmill.names import ReleaseTag
from wheelmill.plan.targets import Cell, PastBuild
from wheelmill.release.manifest import Manifest
from wheelmill.release.store import Publication, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import QUIET, Progress


def publish(store: Store, wheels: Sequence[TestedWheel], *, now: datetime, progress: Progress = QUIET) -> Publication:
    """Release the wheels that no release has yet.

    Args:
        store: the store that gets the new release.
        wheels: the wheels that passed smoke.
        now: the time of publication, in UTC.
        progress: shows the steps that take long.

    Returns:
        The new releases, none when every wheel was published before, byte for byte; and the wheels that cannot be
        released, such as one whose name was published with other bytes.

    Raises:
        ReleaseError: the store cannot be read or written.
    """
    published = {
        entry.filename: (entry.sha256, manifest.tag) for manifest in store.manifests() for entry in manifest.wheels
    }
    clashes = tuple(
        RefusedWheel(
            filename=wheel.file.filename,
            reason=f"was published in {tag} with other bytes; a published wheel never changes: raise the version",
        )
        for wheel in wheels
        for sha256, tag in [published.get(wheel.file.filename, (wheel.file.sha256, None))]
        if sha256 != wheel.file.sha256
    )
    new = sorted((wheel for wheel in wheels if wheel.file.filename not in published), key=lambda w: w.file.filename)
    most = store.quotas.wheels or max(1, len(new))
    done = [store.publish(new[first : first + most], now=now, progress=progress) for first in range(0, len(new), most)]
    return Publication(
        releases=tuple(manifest for each in done for manifest in each.releases),
        refusals=(*clashes, *(refusal for each in done for refusal in each.refusals)),
    )


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
