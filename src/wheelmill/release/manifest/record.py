"""Manifest of a release: all known facts about its wheels as they are written, and those that are read back.

Listing, planning and choosing wheels needs little of a manifest. Most of its bytes are evidence of build and test,
which is skipped: so a wheel takes 7 µs. Words such as ``13.0`` stay texts for `rules` to check. Equal parts of
manifests are kept once: an index holds all releases in memory at the same time.

External dependencies of wheels and of their builds are DepURLs (PEP 725, a draft). Attestations are provenance objects,
as an index links to them (PEP 740). Each is about one file, so only those bundles of a wheel count that have no other
subject and a log entry with a time.

https://peps.python.org/pep-0725/
https://packaging.python.org/en/latest/specifications/index-hosted-attestations/
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace
from packaging.metadata import Metadata

from wheelmill.build.provenance import Provenance
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
from wheelmill.smoke.verdict import Certificate, ListedEvidence, ListedRoom, TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.records import Count, record_bytes
from wheelmill.wheel.build_facts import SourceFacts
from wheelmill.wheel.findings import ListedFinding
from wheelmill.wheel.label import torch_requirement
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.variant import plain_of

MANIFEST: Final = "manifest.json"
SBOM_SUFFIX: Final = ".cdx.json"
"""A wheel's bill of materials lies beside it; https://cyclonedx.org/specification/overview/#recognized-file-patterns"""
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
        """Version of its wheels: ``2.8.3+cu128torch2.8``. Raises ValueError if a value in it cannot be parsed."""
        label = _label_of(replace(self, project="any", version="0"))
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
        """Cell that it was built for. Raises ValueError if a value in it cannot be parsed."""
        return _cell_of(self.built_for)

    @property
    def torch(self) -> TorchNeed | None:
        """Torch of that cell. Raises ValueError if it cannot be parsed."""
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


class ListedFile(_Part, frozen=True):
    """Attributes that a wheel has in its manifest and on the pages of an index."""

    filename: str
    sha256: Sha256
    size: int
    """Bytes."""
    requires_python: str | None
    requires_dist: tuple[str, ...]
    """The requirements in METADATA, each in canonical form (PEP 508)."""
    metadata_sha256: Sha256 | None = None
    """The hash of the sidecar; None if there is none (PEP 658)."""
    external: External | None = None
    """Needs that no package index has; None for wheels of earlier versions of wheelmill."""


attributes_of: Final[Callable[[ListedFile], tuple[Any, ...]]] = attrgetter(*ListedFile.__struct_fields__)
"""The fields that every listed file has, in their order: for one in an index, where thousands are made a second."""

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


ManifestEntry = EntryOf[Certificate]
Manifest = ManifestOf[Certificate]
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
def _label_of(cell: ListedCell) -> str:
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


_OF_WHEEL: Final = ("metadata_sha256", "name", "version", "requires_python", "requires_dist", "attestation", "external")
_OF_CERTIFICATE: Final = ("evidence", "clean_rooms", "findings")
_OF_PROVENANCE: Final = (
    *("architectures", "source_sha256", "patches", "pythons", "expectations", "toolkit", "torch_release", "images"),
    *("driver", "source"),
)
"""Fields that many wheels have in common."""


class Shared:
    """Equal parts of manifests as one object each, for as long as this object lives.

    Sizes are equal if their texts are: for another Python a wheel has the same GPU code and some other bytes.
    """

    def __init__(self) -> None:
        self._one_of: Final = _First()
        self._sizes: Final[dict[str, Sizes]] = {}

    def release(self, release: ListedRelease) -> ListedRelease:
        """Return an equal release that shares its parts, so that the original can be freed."""
        return replace(release, wheels=tuple(map(self._wheel, release.wheels)))

    def _wheel(self, wheel: ListedWheel) -> ListedWheel:
        return replace(
            wheel, **self._parts(wheel, _OF_WHEEL), certificate=self._certificate(wheel.certificate, wheel.sha256)
        )

    def _certificate(self, certificate: ListedCertificate, sha256: Sha256) -> ListedCertificate:
        made = certificate.provenance
        return replace(
            certificate,
            **self._parts(certificate, _OF_CERTIFICATE),
            sha256=sha256 if certificate.sha256 == sha256 else certificate.sha256,
            provenance=self._provenance(made, sha256) if made else None,
            sizes=self._sizes.setdefault(str(certificate.sizes), certificate.sizes) if certificate.sizes else None,
        )

    def _provenance(self, made: ListedProvenance, sha256: Sha256) -> ListedProvenance:
        cell = made.built_for  # cells nearly all differ, but their words do not
        return replace(
            made,
            **self._parts(made, _OF_PROVENANCE),
            sha256=sha256 if made.sha256 == sha256 else made.sha256,
            built_for=ListedCell(**self._parts(cell, cell.__struct_fields__)),
        )

    def _parts(self, record: Struct, names: Iterable[str]) -> dict[str, Any]:
        return {name: self._one_of[getattr(record, name)] for name in names}


_COMPILERS: Final = ("dep:virtual/compiler/cxx", "dep:virtual/compiler/cuda")


def external_of(certificate: Certificate, requires_dist: tuple[str, ...]) -> External:
    """Derive external dependencies from the certificate of a wheel and its Requires-Dist."""
    made = certificate.provenance
    return External(
        build_requires=(*_COMPILERS, f"dep:generic/cuda-toolkit@{made.toolkit}") if made else (),
        host_requires=tuple(_libraries(made)) if made else (),
        dependencies=tuple(_needed(certificate, requires_dist)),
    )


def _libraries(made: Provenance) -> Iterator[str]:
    """Yield system packages, as the package manager of the build machine names them: dnf in containers."""
    if wanted := made.system_packages:
        names, kind = (wanted.dnf, "rpm/almalinux") if made.images else (wanted.apt, "deb/debian")
        yield from (f"dep:{kind}/{name}" for name in names or ())


def _needed(certificate: Certificate, requires_dist: tuple[str, ...]) -> Iterator[str]:
    seen, made = certificate.evidence, certificate.provenance
    if made and made.driver:
        yield f"dep:generic/nvidia-driver@>={made.driver}"
    if seen.glibc:
        yield f"dep:generic/glibc@>={seen.glibc}"
    if seen.cuda_major and torch_requirement(requires_dist) is None:  # torch brings CUDA's libraries
        yield f"dep:generic/cuda-toolkit@>={seen.cuda_major},<{seen.cuda_major + 1}"


_BUILD_CONFIG, _SIGNER, _REPOSITORY = (f"1.3.6.1.4.1.57264.1.{number}" for number in (18, 9, 12))
"""Extensions of a certificate that name a job (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md)."""
_SERVER: Final = "https://github.com/"


def provenance_of(wheel: TestedWheel) -> bytes | None:
    """Return the provenance object of a wheel as JSON; None if no bundle attests the wheel alone."""
    own = [bundle for bundle in wheel.bundles if _is_about(bundle, wheel)]
    if not own:
        return None
    from pypi_attestations import Attestation, AttestationBundle, GitHubPublisher, Provenance
    from sigstore.models import Bundle

    bundles = []
    for bundle in own:
        attestation = Attestation.from_bundle(Bundle.from_json(bundle))
        claims = attestation.certificate_claims
        workflow = claims.get(_BUILD_CONFIG, claims[_SIGNER]).partition("@")[0].rpartition("/")[2]
        publisher = GitHubPublisher(repository=claims[_REPOSITORY].removeprefix(_SERVER), workflow=workflow)
        bundles.append(AttestationBundle(publisher=publisher, attestations=[attestation]))
    return Provenance(attestation_bundles=bundles).model_dump_json().encode() + b"\n"


def shared_bundles(wheel: TestedWheel) -> tuple[bytes, ...]:
    """Return the bundles of a wheel that are needed in addition to its provenance object.

    Verifying a release means verifying each bundle: those of a whole group are fewer than those of each wheel.
    """
    shared = tuple(bundle for bundle in wheel.bundles if not _is_about(bundle, wheel))
    subject = wheel.file.filename, wheel.file.sha256
    return shared if any(subject in _subjects_of(bundle) for bundle in shared) else wheel.bundles


def _is_about(bundle: bytes, wheel: TestedWheel) -> bool:
    """True if a wheel is the only subject of a bundle, and a log has the time of the signature."""
    if _subjects_of(bundle) != [(wheel.file.filename, wheel.file.sha256)]:
        return False
    entries = json.loads(bundle)["verificationMaterial"]["tlogEntries"]
    return len(entries) == 1 and bool(entries[0].get("integratedTime"))


def _subjects_of(bundle: bytes) -> list[tuple[str, str]]:
    """Return names and hashes of the subjects of a bundle, which was verified if verification is required."""
    try:
        statement = json.loads(base64.b64decode(json.loads(bundle)["dsseEnvelope"]["payload"]))
        return [(subject["name"], subject["digest"]["sha256"]) for subject in statement["subject"]]
    except (KeyError, TypeError, ValueError):
        return []


def manifest_of(tag: ReleaseTag, wheels: Sequence[ManifestEntry], *, now: datetime) -> Manifest:
    """Describe a release of these wheels."""
    return ManifestOf(schema=SCHEMA, tag=tag, published_at=now.replace(microsecond=0), wheels=tuple(wheels))


def manifest_bytes(manifest: Manifest) -> bytes:
    """Encode a manifest as indented JSON, with the certificates as `record_bytes` writes them."""
    wheels = [replace(wheel, certificate=msgspec.Raw(record_bytes(wheel.certificate))) for wheel in manifest.wheels]
    return msgspec.json.format(msgspec.json.encode(replace(manifest, wheels=wheels)), indent=2) + b"\n"


def listed_file(file: WheelFile, metadata: Metadata, sidecar: bytes | None) -> ListedFile:
    """Return the attributes of a wheel on this disk; `sidecar` is None if it has none."""
    return ListedFile(
        filename=file.filename,
        sha256=file.sha256,
        size=file.size,
        metadata_sha256=None if sidecar is None else sha256_of_bytes(sidecar),
        requires_python=str(metadata.requires_python) if metadata.requires_python is not None else None,
        requires_dist=tuple(str(each) for each in metadata.requires_dist or ()),
    )


def entry_of(wheel: TestedWheel) -> ManifestEntry:
    """Describe a wheel on this disk."""
    content = metadata_bytes(wheel.file.path)
    metadata = read_metadata(content)
    plain = plain_of(wheel.file.path)
    listed = listed_file(wheel.file, metadata, content)
    listed = replace(listed, external=external_of(wheel.certificate, listed.requires_dist))
    return EntryOf(
        **asdict(listed),
        name=metadata.name,
        version=str(metadata.version),
        certificate=wheel.certificate,
        attestation=wheel.attestation,
        attested=bool(wheel.bundles),
        provenance=provenance_of(wheel) is not None,
        plain=plain.sha256 if plain else None,
    )
