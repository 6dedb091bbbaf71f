"""The provenance object of a wheel: who attests it, in the form that an index links to (PEP 740).

https://packaging.python.org/en/latest/specifications/index-hosted-attestations/
An attestation there is about one file. So of the bundles of a wheel those count that speak of nothing else, and those
alone that a log gave a time to: the form has no place for other signed times.
"""

from __future__ import annotations

import base64
import json
from typing import Final

from wheelmill.smoke.verdict import TestedWheel

_BUILD_CONFIG, _SIGNER, _REPOSITORY = (f"1.3.6.1.4.1.57264.1.{number}" for number in (18, 9, 12))
"""What a certificate says of a job (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md)."""
_SERVER: Final = "https://github.com/"


def provenance_of(wheel: TestedWheel) -> bytes | None:
    """Write the provenance object of a wheel.

    Returns:
        JSON; None for a wheel that no bundle of its own attests.
    """
    own = [bundle for bundle in wheel.bundles if _is_about(bundle, wheel)]
    if not own:
        return None
    from pypi_attestations import Attestation, AttestationBundle, GitHubPublisher, Provenance  # noqa: PLC0415 - a second
    from sigstore.models import Bundle  # noqa: PLC0415

    bundles = []
    for bundle in own:
        attestation = Attestation.from_bundle(Bundle.from_json(bundle))
        claims = attestation.certificate_claims
        workflow = claims.get(_BUILD_CONFIG, claims[_SIGNER]).partition("@")[0].rpartition("/")[2]
        publisher = GitHubPublisher(repository=claims[_REPOSITORY].removeprefix(_SERVER), workflow=workflow)
        bundles.append(AttestationBundle(publisher=publisher, attestations=[attestation]))
    return Provenance(attestation_bundles=bundles).model_dump_json().encode() + b"\n"


def shared_bundles(wheel: TestedWheel) -> tuple[bytes, ...]:
    """The bundles of a wheel that are needed beside its provenance object.

    Who verifies a release verifies each of its bundles: those of a whole group are fewer than those of each wheel.
    """
    shared = tuple(bundle for bundle in wheel.bundles if not _is_about(bundle, wheel))
    subject = wheel.file.filename, wheel.file.sha256
    return shared if any(subject in _subjects_of(bundle) for bundle in shared) else wheel.bundles


def _is_about(bundle: bytes, wheel: TestedWheel) -> bool:
    """Whether a bundle speaks of a wheel alone, and a log says when it was signed."""
    if _subjects_of(bundle) != [(wheel.file.filename, wheel.file.sha256)]:
        return False
    entries = json.loads(bundle)["verificationMaterial"]["tlogEntries"]
    return len(entries) == 1 and bool(entries[0].get("integratedTime"))


def _subjects_of(bundle: bytes) -> list[tuple[str, str]]:
    """Names and hashes of the files that a bundle speaks of; it was verified, where that is asked for."""
    try:
        statement = json.loads(base64.b64decode(json.loads(bundle)["dsseEnvelope"]["payload"]))
        return [(subject["name"], subject["digest"]["sha256"]) for subject in statement["subject"]]
    except (KeyError, TypeError, ValueError):
        return []
