"""A manifest as it is written: everything that is known of the wheels of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import AwareDatetime

from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.manifest.external import External, external_of
from wheelmill.release.manifest.listed import Schema
from wheelmill.release.pep740 import provenance_of
from wheelmill.smoke.verdict import Certificate, TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.variant import plain_of

MANIFEST: Final = "manifest.json"
SBOM_SUFFIX: Final = ".cdx.json"
"""A wheel's bill of materials lies beside it; https://cyclonedx.org/specification/overview/#recognized-file-patterns"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestEntry:
    """One wheel of a release."""

    filename: str
    sha256: Sha256
    size: int
    """Bytes."""
    metadata_sha256: Sha256
    """The hash of the sidecar."""
    name: str
    """The name of the project, as METADATA writes it."""
    version: str
    """The version, as METADATA writes it."""
    requires_python: str | None
    requires_dist: tuple[str, ...]
    """The requirements in METADATA, each in canonical form (PEP 508)."""
    certificate: Certificate
    """What smoke saw, and how the wheel was built."""
    attestation: str | None = None
    """The address of its attestation, which ``gh attestation verify`` also finds by the wheel's hash."""
    attested: bool = False
    """Whether the release itself has its attestation, in ``attestations.jsonl``."""
    provenance: bool = False
    """Whether its provenance object lies beside it (PEP 740)."""
    plain: Sha256 | None = None
    """The hash of the plain wheel that a variant wheel was made of; None for a plain wheel."""
    external: External | None = None
    """What it needs that no package index has; None for wheels of earlier versions of wheelmill."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What ``manifest.json`` of a release says. The index is computed from manifests alone."""

    schema: Schema = "wheelmill.manifest/1"
    tag: ReleaseTag
    published_at: AwareDatetime
    """In UTC, to the second."""
    wheels: tuple[ManifestEntry, ...]


def manifest_of(tag: ReleaseTag, wheels: Sequence[ManifestEntry], *, now: datetime) -> Manifest:
    """Describe a release of these wheels."""
    return Manifest(tag=tag, published_at=now.replace(microsecond=0), wheels=tuple(wheels))


def entry_of(wheel: TestedWheel) -> ManifestEntry:
    """Describe a wheel, as it lies on this disk."""
    content = metadata_bytes(wheel.file.path)
    metadata = read_metadata(content)
    plain = plain_of(wheel.file.path)
    requires_dist = tuple(str(each) for each in metadata.requires_dist or ())
    return ManifestEntry(
        filename=wheel.file.filename,
        sha256=wheel.file.sha256,
        size=wheel.file.size,
        metadata_sha256=sha256_of_bytes(content),
        name=metadata.name,
        version=str(metadata.version),
        requires_python=str(metadata.requires_python) if metadata.requires_python is not None else None,
        requires_dist=requires_dist,
        certificate=wheel.certificate,
        attestation=wheel.attestation,
        attested=bool(wheel.bundles),
        provenance=provenance_of(wheel) is not None,
        plain=plain.sha256 if plain else None,
        external=external_of(wheel.certificate, requires_dist),
    )
