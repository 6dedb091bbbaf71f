"""Making a release's manifest, and reading one that may have been changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from wheelmill.errors import IntegrityError, ReleaseError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.record_files import record_from
from wheelmill.release.records import Manifest, ManifestEntry
from wheelmill.smoke.records import TestedWheel
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.records import WheelName


def manifest_of(tag: ReleaseTag, wheels: Sequence[TestedWheel], *, now: datetime) -> Manifest:
    """Describe a release of these wheels."""
    return Manifest(tag=tag, published_at=now.replace(microsecond=0), wheels=tuple(map(_entry_of, wheels)))


def _entry_of(wheel: TestedWheel) -> ManifestEntry:
    content = metadata_bytes(wheel.file.path)
    metadata = read_metadata(content)
    return ManifestEntry(
        filename=wheel.file.filename,
        sha256=wheel.file.sha256,
        size=wheel.file.size,
        metadata_sha256=Sha256(hashlib.sha256(content).hexdigest()),
        name=metadata.name,
        version=str(metadata.version),
        requires_python=str(metadata.requires_python) if metadata.requires_python is not None else None,
        requires_dist=tuple(str(each) for each in metadata.requires_dist or ()),
        certificate=wheel.certificate,
        attestation=wheel.attestation,
    )


def manifest_from(content: bytes, *, tag: str, source: str) -> Manifest:
    """Read the manifest of a release.

    Args:
        content: of ``manifest.json``.
        tag: of the release that it was found in.
        source: where it was found, for the errors.

    Raises:
        ReleaseError: it is no manifest, it is another release's, or it names files that are not wheels.
    """
    try:
        manifest = record_from(content, Manifest, source=source)
        for entry in manifest.wheels:
            WheelName.parse(entry.filename)
    except (IntegrityError, ValueError) as error:
        raise ReleaseError(f"{source}: {error}" if isinstance(error, ValueError) else str(error)) from None
    if manifest.tag != tag:
        raise ReleaseError(f"{source} is the manifest of {manifest.tag}, not of {tag}")
    return manifest
