"""Manifest of a release: written at publication, and not trusted when it is read."""

from wheelmill.release.manifest.record import (
    MANIFEST,
    SBOM_SUFFIX,
    SCHEMA,
    External,
    ListedCertificate,
    ListedFile,
    ListedProvenance,
    ListedRelease,
    ListedWheel,
    Manifest,
    ManifestEntry,
    attributes_of,
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
    spelling_fault,
)
