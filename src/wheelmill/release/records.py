"""A release, as its manifest tells it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from wheelmill.names import ReleaseTag, Sha256
from wheelmill.smoke.records import Certificate

MANIFEST: Final = "manifest.json"
SIDECAR_SUFFIX: Final = ".metadata"
"""PEP 658: a wheel's METADATA lies at the wheel's own URL with this behind it."""
SBOM_SUFFIX: Final = ".cdx.json"
"""A wheel's bill of materials lies beside it; https://cyclonedx.org/specification/overview/#recognized-file-patterns"""

Schema = Literal["wheelmill.manifest/1"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestEntry:
    """One wheel of a release."""

    filename: str
    sha256: Sha256
    size: int
    """Bytes."""
    metadata_sha256: Sha256
    """Of the sidecar."""
    name: str
    """Of the project, as METADATA writes it."""
    version: str
    """As METADATA writes it."""
    requires_python: str | None
    requires_dist: tuple[str, ...]
    """As METADATA says, each in canonical form (PEP 508)."""
    certificate: Certificate
    """What smoke saw, and how the wheel was built."""
    attestation: str | None = None
    """The address of its attestation, which ``gh attestation verify`` also finds by the wheel's hash."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What ``manifest.json`` of a release says. The index is computed from manifests alone."""

    schema: Schema = "wheelmill.manifest/1"
    tag: ReleaseTag
    published_at: datetime
    """In UTC, to the second."""
    wheels: tuple[ManifestEntry, ...]
