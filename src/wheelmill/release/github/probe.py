"""A published release as everybody sees it: an index must name no file that cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

from wheelmill.errors import NetworkError, ReleaseError
from wheelmill.release.github.connection import PAUSES
from wheelmill.release.github.download import Downloads
from wheelmill.release.manifest import SIDECAR_SUFFIX, Manifest, ManifestEntry
from wheelmill.system.files import sha256_of_bytes


def probe(downloads: Downloads, manifest: Manifest, *, unhashed: frozenset[str]) -> None:
    """Make sure that everybody can have every wheel and every sidecar of a release.

    Sidecars are read and compared. Of a wheel the size is asked for: its hash was compared with GitHub's own digest
    before. Where GitHub gave none, the wheel is read whole.

    Args:
        downloads: reads without a token.
        manifest: what the release promises of its files.
        unhashed: names of the files that GitHub gave no digest for.

    Raises:
        ReleaseError: names every file that is not there, or not as it should be.
    """
    pending = manifest.wheels
    faults: list[str] = []
    for pause in (0.0, *PAUSES):
        downloads.clock.sleep(pause)
        found = [(entry, _fault(downloads, manifest.tag, entry, whole=entry.filename in unhashed)) for entry in pending]
        pending = tuple(entry for entry, fault in found if fault)
        faults = [fault for _, fault in found if fault]
        if not faults:
            return
    raise ReleaseError(
        "\n".join((f"{manifest.tag} is published, but not for everybody:", *faults)), hint="is the repository public?"
    )


def _fault(downloads: Downloads, tag: str, entry: ManifestEntry, *, whole: bool) -> str | None:
    sidecar = entry.filename + SIDECAR_SUFFIX
    try:
        metadata = sha256_of_bytes(downloads.read(tag, sidecar))
        if metadata != entry.metadata_sha256:
            return f"{sidecar} has sha256 {metadata} instead of {entry.metadata_sha256}"
        if (size := downloads.size(tag, entry.filename)) != entry.size:
            return f"{entry.filename} has {size} bytes instead of {entry.size}"
        if whole and (sha256 := _hash(downloads, tag, entry.filename)) != entry.sha256:
            return f"{entry.filename} has sha256 {sha256} instead of {entry.sha256}"
    except NetworkError as error:
        return str(error)
    return None


def _hash(downloads: Downloads, tag: str, filename: str) -> str:
    with Path(os.devnull).open("wb") as nowhere:
        return downloads.save(tag, filename, nowhere)
