"""Writing a manifest: all known facts about the wheels of a release.

External dependencies of wheels and of their builds are DepURLs (PEP 725, a draft). Attestations are provenance objects,
as an index links to them (PEP 740). Each is about one file, so only those bundles of a wheel count that have no other
subject and a log entry with a time.

https://peps.python.org/pep-0725/
https://packaging.python.org/en/latest/specifications/index-hosted-attestations/
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace
from packaging.metadata import Metadata

from wheelmill.build.provenance import Provenance
from wheelmill.names import ReleaseTag
from wheelmill.release.manifest.listed import SCHEMA, EntryOf, External, ListedFile, ManifestOf
from wheelmill.smoke.verdict import Certificate, TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.records import record_bytes
from wheelmill.wheel.label import torch_requirement
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.variant import plain_of


def external_of(certificate: Certificate, requires_dist: tuple[str, ...]) -> External:
    """Derive external dependencies from the certificate of a wheel and its Requires-Dist."""
    made = certificate.provenance
    return External(
        build_requires=(
            *("dep:virtual/compiler/cxx", "dep:virtual/compiler/cuda"),
            f"dep:generic/cuda-toolkit@{made.toolkit}",
        )
        if made
        else (),
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


MANIFEST: Final = "manifest.json"
SBOM_SUFFIX: Final = ".cdx.json"
"""A wheel's bill of materials lies beside it; https://cyclonedx.org/specification/overview/#recognized-file-patterns"""


ManifestEntry = EntryOf[Certificate]
Manifest = ManifestOf[Certificate]


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
        **listed.attributes,
        name=metadata.name,
        version=str(metadata.version),
        certificate=wheel.certificate,
        attestation=wheel.attestation,
        attested=bool(wheel.bundles),
        provenance=provenance_of(wheel) is not None,
        plain=plain.sha256 if plain else None,
    )
