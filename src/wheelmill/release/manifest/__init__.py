"""Manifest of a release: written at publication, and not trusted when it is read."""

from wheelmill.release.manifest.listed import (
    SCHEMA,
    External,
    ListedCertificate,
    ListedFile,
    ListedProvenance,
    ListedRelease,
    ListedWheel,
)
from wheelmill.release.manifest.record import (
    MANIFEST,
    SBOM_SUFFIX,
    Manifest,
    ManifestEntry,
    entry_of,
    listed_file,
    manifest_bytes,
    manifest_of,
)
from wheelmill.release.manifest.rules import (
    WHEEL_FILENAME,
    faults_of_wheel,
    listed_of,
    manifest_from,
    name_faults,
    requirement_faults,
)

__all__ = [
    "MANIFEST",
    "SBOM_SUFFIX",
    "SCHEMA",
    "WHEEL_FILENAME",
    "External",
    "ListedCertificate",
    "ListedFile",
    "ListedProvenance",
    "ListedRelease",
    "ListedWheel",
    "Manifest",
    "ManifestEntry",
    "entry_of",
    "faults_of_wheel",
    "listed_file",
    "listed_of",
    "manifest_bytes",
    "manifest_from",
    "manifest_of",
    "name_faults",
    "requirement_faults",
]
