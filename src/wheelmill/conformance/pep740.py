"""PEP 740: attestations.

https://peps.python.org/pep-0740/

Signatures are not verified here: whose they should be is for a user to say.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from wheelmill.conformance.served import ExaminedFile, ProjectDetail
from wheelmill.conformance.values import parse_filename
from wheelmill.conformance.violation import Violation, installs, rule
from wheelmill.web.credentials import is_secure

_UNREAD: Final = installs("does not look at attestations")

URL: Final = rule("740.1", "provenance is an absolute URL on a secure origin.", _UNREAD, section="Simple Index")
OBJECT: Final = rule(
    "740.2", "At the URL of provenance there is a provenance object, version 1.", _UNREAD, section="Provenance objects"
)
SUBJECT: Final = rule(
    "740.3",
    "An attestation is about this file: its name and its sha256.",
    _UNREAD,
    section="Attestation statement and signature generation",
)
EMPTY: Final = rule(
    "740.4",
    "A provenance object has a bundle, and each bundle an attestation.",
    _UNREAD,
    section="Provenance objects",
)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Envelope(_Model):
    statement: str
    signature: str


class _Attestation(_Model):
    version: int
    verification_material: dict[str, object]
    envelope: _Envelope


class _Publisher(_Model):
    kind: str


class _Bundle(_Model):
    publisher: _Publisher
    attestations: tuple[_Attestation, ...]


class _Provenance(_Model):
    version: int
    attestation_bundles: tuple[_Bundle, ...]


class _Subject(_Model):
    name: str
    digest: dict[str, str]


class _Statement(_Model):
    subject: tuple[_Subject, ...]


def check_provenance_url(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    for link in detail.page.links:
        if link.provenance is not None and not is_secure(link.provenance):
            yield URL.violation(detail.document.url, f"{link.filename} has the provenance {link.provenance!r}")


def check_provenance(file: ExaminedFile) -> Iterator[Violation]:
    """What the provenance of a file breaks."""
    document = file.provenance
    if document is None:
        return
    if not document.ok:
        yield OBJECT.violation(document.url, f"the provenance of {file.link.filename} {document.failure}")
        return
    try:
        provenance = _Provenance.model_validate_json(document.content)
        statements = [
            _Statement.model_validate(json.loads(base64.b64decode(attestation.envelope.statement)))
            for bundle in provenance.attestation_bundles
            for attestation in bundle.attestations
        ]
    except (ValidationError, ValueError, RecursionError):
        yield OBJECT.violation(document.url, "this is not a provenance object")
        return
    if provenance.version != 1:
        yield OBJECT.violation(document.url, f"the version is {provenance.version}")
    bundles = provenance.attestation_bundles
    if not bundles or not all(bundle.attestations for bundle in bundles):
        empty = "a bundle has no attestation" if bundles else "there is no bundle"
        yield EMPTY.violation(document.url, f"{file.link.filename}: {empty}")
    about = [(subject.name, subject.digest.get("sha256")) for it in statements for subject in it.subject]
    for name, sha256 in about:
        same_name = name == file.link.filename or parse_filename(name) == parse_filename(file.link.filename) is not None
        if not same_name or sha256 != file.link.hashes.get("sha256", sha256):
            yield SUBJECT.violation(document.url, f"it is about {name} with sha256 {sha256}")
