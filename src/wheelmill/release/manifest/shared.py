"""Equal parts of manifests, kept once: an index holds all releases in memory at the same time."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from wheelmill.names import Sha256
from wheelmill.release.manifest.listed import (
    ListedCell,
    ListedCertificate,
    ListedProvenance,
    ListedRelease,
    ListedSizes,
    ListedWheel,
)


class _First(dict[Any, Any]):
    """Maps each value to the first one that was equal to it."""

    def __missing__(self, value: object) -> object:
        self[value] = value
        return value


class Shared:
    """Equal parts of manifests as one object each, for as long as this lives.

    Sizes are equal when they read alike: for another Python a wheel has the same GPU code and some other bytes.
    """

    def __init__(self) -> None:
        self._one_of: Final = _First()
        self._sizes: Final[dict[str, ListedSizes]] = {}

    def release(self, release: ListedRelease) -> ListedRelease:
        """The same release, whose bytes and parts can be dropped."""
        return replace(release, wheels=tuple(map(self._wheel, release.wheels)))

    def _wheel(self, wheel: ListedWheel) -> ListedWheel:
        one = self._one_of
        return ListedWheel(
            filename=wheel.filename,
            sha256=wheel.sha256,
            size=wheel.size,
            metadata_sha256=one[wheel.metadata_sha256],
            name=one[wheel.name],
            version=one[wheel.version],
            requires_python=one[wheel.requires_python],
            requires_dist=one[wheel.requires_dist],
            certificate=self._certificate(wheel.certificate, wheel.sha256),
            attestation=one[wheel.attestation],
            attested=wheel.attested,
            provenance=wheel.provenance,
            plain=wheel.plain,
            external=one[wheel.external],
        )

    def _certificate(self, certificate: ListedCertificate, sha256: Sha256) -> ListedCertificate:
        made = certificate.provenance
        return ListedCertificate(
            sha256=sha256 if certificate.sha256 == sha256 else certificate.sha256,
            evidence=self._one_of[certificate.evidence],
            clean_rooms=self._one_of[certificate.clean_rooms],
            provenance=self._provenance(made, sha256) if made else None,
            findings=self._one_of[certificate.findings],
            sizes=self._sizes.setdefault(str(certificate.sizes), certificate.sizes) if certificate.sizes else None,
        )

    def _provenance(self, made: ListedProvenance, sha256: Sha256) -> ListedProvenance:
        one = self._one_of
        return ListedProvenance(
            sha256=sha256 if made.sha256 == sha256 else made.sha256,
            built_for=self._cell(made.built_for),
            architectures=one[made.architectures],
            source_sha256=one[made.source_sha256],
            patches=one[made.patches],
            pythons=one[made.pythons],
            expectations=one[made.expectations],
            toolkit=one[made.toolkit],
            torch_release=one[made.torch_release],
            images=one[made.images],
            seconds=made.seconds,
            cxx_standard=made.cxx_standard,
            driver=one[made.driver],
            source=one[made.source],
        )

    def _cell(self, cell: ListedCell) -> ListedCell:
        """Cells nearly all differ, but their words do not."""
        one = self._one_of
        return ListedCell(
            project=one[cell.project],
            version=one[cell.version],
            python=one[cell.python],
            cuda=one[cell.cuda],
            torch=one[cell.torch],
            torch_abi=one[cell.torch_abi],
            platform=one[cell.platform],
        )
