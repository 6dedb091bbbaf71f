"""Manifest of a release, and its certificates as they are read: only what listing, planning and choosing wheels needs.

Most of a manifest's bytes are evidence of build and test, which is skipped: so a wheel takes 7 µs. Words such as
``13.0`` stay texts for `rules` to check. Equal parts of manifests are kept once: an index holds all releases in memory
at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from wheelmill.names import (
    CudaVersion,
    Platform,
    ProjectName,
    ProjectVersion,
    PythonVersion,
    ReleaseTag,
    Sha256,
    StableTorch,
    TorchNeed,
    TorchVersion,
)
from wheelmill.plan.targets import Cell
from wheelmill.smoke.verdict import ListedEvidence, ListedRoom
from wheelmill.system.records import Count
from wheelmill.wheel.build_facts import SourceFacts
from wheelmill.wheel.findings import ListedFinding
from wheelmill.wheel.sizes import Sizes

SCHEMA: Final = "wheelmill.manifest/1"
Schema = Literal["wheelmill.manifest/1"]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class _Part(Struct, frozen=True, gc=False):
    """Part of a manifest; without cycles, so that the garbage collector need not track it."""


class ListedRange(_Part, frozen=True, kw_only=True):
    """All torch releases from one on."""

    stable: str
    below: str | None = None


class ListedCell(_Part, frozen=True, kw_only=True):
    """Cell that a wheel was built for, as texts: an invalid one is a fault of its wheel, not of the whole release."""

    project: str
    version: str
    python: str
    cuda: str
    torch: str | None
    torch_abi: ListedRange | None = None
    platform: str

    @property
    def exact_version(self) -> str:
        """Version of its wheels: ``2.8.3+cu128torch2.8``.

        Raises:
            ValueError: a value in it cannot be parsed.
        """
        label = _label_of(self.python, self.cuda, self.torch, self.torch_abi, self.platform)
        return f"{self.version}{'.' if '+' in self.version else '+'}{label}"


class ListedExpectations(_Part, frozen=True, kw_only=True):
    """Requirements that an installed wheel must meet."""

    requires: tuple[ProjectName, ...] = ()


class ListedProvenance(_Part, frozen=True, kw_only=True):
    """Build of a wheel: the half of `Provenance` that readers need, a struct because every wheel has its own."""

    sha256: Sha256
    built_for: ListedCell = field(name="cell")
    architectures: tuple[str, ...]
    source_sha256: Sha256
    patches: tuple[Sha256, ...]
    pythons: tuple[str, ...]
    expectations: ListedExpectations
    toolkit: str
    torch_release: str | None
    images: tuple[str, ...]
    seconds: Seconds
    cxx_standard: Count | None = None
    driver: str | None = None
    source: SourceFacts | None = None

    @property
    def cell(self) -> Cell:
        """Cell that it was built for.

        Raises:
            ValueError: a value in it cannot be parsed.
        """
        return _cell_of(self.built_for)

    @property
    def torch(self) -> TorchNeed | None:
        """Torch of that cell.

        Raises:
            ValueError: it cannot be parsed.
        """
        return _torch_of(self.built_for.torch, self.built_for.torch_abi)


class ListedCertificate(_Part, frozen=True, kw_only=True):
    """Certificate that a wheel passed: `Certificate` with the short form of each part."""

    sha256: Sha256
    evidence: ListedEvidence
    clean_rooms: tuple[ListedRoom, ...]
    provenance: ListedProvenance | None
    findings: tuple[ListedFinding, ...] = ()
    sizes: Sizes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class External:
    """The keys that the table ``[external]`` has in a pyproject.toml."""

    build_requires: tuple[str, ...] = ()
    """Programs of its build: ``dep:generic/cuda-toolkit@13.0.2``."""
    host_requires: tuple[str, ...] = ()
    """Libraries of its build: ``dep:rpm/almalinux/libaio-devel``."""
    dependencies: tuple[str, ...] = ()
    """Needs at import: ``dep:generic/nvidia-driver@>=580.65.06``."""


class ListedFile(_Part, frozen=True, kw_only=True):
    """Attributes that a wheel has in its manifest and on the pages of an index."""

    filename: str
    sha256: Sha256
    size: int
    """Bytes."""
    metadata_sha256: Sha256 | None = None
    """The hash of the sidecar; None if there is none (PEP 658)."""
    requires_python: str | None
    requires_dist: tuple[str, ...]
    """The requirements in METADATA, each in canonical form (PEP 508)."""
    external: External | None = None
    """Needs that no package index has; None for wheels of earlier versions of wheelmill."""

    @property
    def attributes(self) -> dict[str, Any]:
        """These attributes alone, for another record that has them."""
        return {name: getattr(self, name) for name in ListedFile.__struct_fields__}


CertificateOf = TypeVar("CertificateOf")


class EntryOf(ListedFile, Generic[CertificateOf], frozen=True, kw_only=True):
    """One wheel of a release, with its certificate as it is written or as it is read."""

    metadata_sha256: Sha256
    """The hash of the sidecar, which every release has."""
    name: str
    """The name of the project, as METADATA writes it."""
    version: str
    """The version, as METADATA writes it."""
    certificate: CertificateOf
    """Results of smoke, and facts about the build."""
    attestation: str | None = None
    """The address of its attestation, which ``gh attestation verify`` also finds by the wheel's hash."""
    attested: bool = False
    """True if the release itself has its attestation, in ``attestations.jsonl``."""
    provenance: bool = False
    """True if its provenance object lies beside it (PEP 740)."""
    plain: Sha256 | None = None
    """The hash of the plain wheel that a variant wheel was made of; None for a plain wheel."""


class ManifestOf(_Part, Generic[CertificateOf], frozen=True, kw_only=True):
    """Content of ``manifest.json`` of a release. The index is computed from manifests alone."""

    schema: Schema
    tag: ReleaseTag
    published_at: Annotated[datetime, Meta(tz=True)]
    """In UTC, to the second."""
    wheels: tuple[EntryOf[CertificateOf], ...]


ListedWheel = EntryOf[ListedCertificate]
ListedRelease = ManifestOf[ListedCertificate]

# Thousands of wheels share few distinct values.


@lru_cache(maxsize=4096)
def _cell_of(cell: ListedCell) -> Cell:
    return Cell(
        project=ProjectName(cell.project),
        version=ProjectVersion(cell.version),
        python=PythonVersion.parse(cell.python),
        cuda=CudaVersion.parse(cell.cuda),
        torch=_torch_of(cell.torch, cell.torch_abi),
        platform=Platform.parse(cell.platform),
    )


@lru_cache(maxsize=4096)
def _label_of(python: str, cuda: str, torch: str | None, torch_abi: ListedRange | None, platform: str) -> str:
    cell = ListedCell(
        project="any", version="0", python=python, cuda=cuda, torch=torch, torch_abi=torch_abi, platform=platform
    )
    return str(_cell_of(cell).label)


@lru_cache(maxsize=4096)
def _torch_of(torch: str | None, torch_abi: ListedRange | None) -> TorchNeed | None:
    if torch_abi is None:
        return TorchVersion.parse(torch) if torch is not None else None
    if torch is not None:
        raise ValueError("expected one torch, or a range of them as torch_abi")
    return StableTorch(
        oldest=TorchVersion.parse(torch_abi.stable),
        below=TorchVersion.parse(torch_abi.below) if torch_abi.below is not None else None,
    )


class _First(dict[Any, Any]):
    """Map of each value to the first equal one."""

    def __missing__(self, value: object) -> object:
        self[value] = value
        return value


class Shared:
    """Equal parts of manifests as one object each, for as long as this object lives.

    Sizes are equal if their texts are: for another Python a wheel has the same GPU code and some other bytes.
    """

    def __init__(self) -> None:
        self._one_of: Final = _First()
        self._sizes: Final[dict[str, Sizes]] = {}

    def release(self, release: ListedRelease) -> ListedRelease:
        """Return an equal release, so that the bytes and parts of the given one can be dropped."""
        return replace(release, wheels=tuple(map(self._wheel, release.wheels)))

    def _wheel(self, wheel: ListedWheel) -> ListedWheel:
        one = self._one_of
        return replace(
            wheel,
            metadata_sha256=one[wheel.metadata_sha256],
            name=one[wheel.name],
            version=one[wheel.version],
            requires_python=one[wheel.requires_python],
            requires_dist=one[wheel.requires_dist],
            certificate=self._certificate(wheel.certificate, wheel.sha256),
            attestation=one[wheel.attestation],
            external=one[wheel.external],
        )

    def _certificate(self, certificate: ListedCertificate, sha256: Sha256) -> ListedCertificate:
        made = certificate.provenance
        return replace(
            certificate,
            sha256=sha256 if certificate.sha256 == sha256 else certificate.sha256,
            evidence=self._one_of[certificate.evidence],
            clean_rooms=self._one_of[certificate.clean_rooms],
            provenance=self._provenance(made, sha256) if made else None,
            findings=self._one_of[certificate.findings],
            sizes=self._sizes.setdefault(str(certificate.sizes), certificate.sizes) if certificate.sizes else None,
        )

    def _provenance(self, made: ListedProvenance, sha256: Sha256) -> ListedProvenance:
        one = self._one_of
        return replace(
            made,
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
            driver=one[made.driver],
            source=one[made.source],
        )

    def _cell(self, cell: ListedCell) -> ListedCell:
        """Share the words of a cell: cells nearly all differ, but their words do not."""
        return ListedCell(**{name: self._one_of[getattr(cell, name)] for name in cell.__struct_fields__})
