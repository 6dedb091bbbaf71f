"""Rules for a page's facts about a project and its files, and for the files that it announces.

PEP 700: size, upload time and versions; HTML has no standard attributes for them, and uv reads ``data-size`` and
``data-upload-time`` there. PEP 792: the status of a project. PEP 658 and 714: METADATA beside a wheel. PEP 740:
attestations; signatures are not verified, because only the user decides on trust. PEP 825, a draft: variant wheels,
which a machine chooses by more than their tags.

https://peps.python.org/pep-0700/
https://peps.python.org/pep-0792/
https://peps.python.org/pep-0658/
https://peps.python.org/pep-0714/
https://peps.python.org/pep-0740/
https://peps.python.org/pep-0825/
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Final

from packaging.utils import canonicalize_name
from pydantic import BaseModel, ValidationError

from wheelmill.conformance.listed_values import is_hash, name_and_version, parse_filename
from wheelmill.conformance.rule import IGNORES, Breach, ExaminedFile, Violation, fails, installs, rule
from wheelmill.errors import UnreadableError
from wheelmill.names import version_or_none
from wheelmill.web.credentials import is_secure
from wheelmill.web.pages import SIDECAR_SUFFIX, Form, Page
from wheelmill.wheel.name import VARIANTS_SUFFIX, split_label, variants_filename
from wheelmill.wheel.variant import VARIANT_FILE, VariantMetadata, read_variant_metadata

VERSIONS: Final = rule(
    "700.1",
    "From API version 1.1 on, versions lists every version that has files, each once.",
    installs("reads versions from the file names"),
    section="Versions",
)
_file_rule = partial(rule, section="Additional file information")
SIZE: Final = _file_rule("700.2", "From API version 1.1 on, every file has its size in bytes.", IGNORES)
SAME_SIZE: Final = _file_rule("700.3", "The size is the one of the file that is served.", IGNORES)
UPLOAD_TIME: Final = _file_rule(
    "700.4",
    "upload-time has the form yyyy-mm-ddThh:mm:ss.ffffffZ, the fraction optional.",
    fails("ends with a traceback; ignores it in HTML; accepts other zones and none"),
    fails("refuses a page in JSON; accepts other zones and the year 0"),
)
SIZE_RANGE: Final = _file_rule(
    "700.5",
    "A size is a whole number of at most 18 digits, without a sign.",
    IGNORES,
    fails("refuses a page in JSON with a size from 2**64 on, below 0 or not whole"),
)

_FORMS: Final = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ")


def check_attributes(page: Page) -> Iterator[Breach]:
    """Check the sizes, upload times and versions on a project's page (PEP 700)."""
    needs_all = page.form is Form.JSON and page.version != "1.0"
    if needs_all:
        yield from _check_versions(page)
    for link in page.links:
        if link.size is None and needs_all:
            yield SIZE, f"{link.filename} has no size"
        elif link.size is not None and link.size < 0:
            yield SIZE_RANGE, f"{link.filename} has the size {link.size}"
        if link.upload_time is not None and not _is_time(link.upload_time):
            yield UPLOAD_TIME, f"{link.filename} has the upload time {link.upload_time!r}"


def check_size(file: ExaminedFile) -> Iterator[Violation]:
    """Check a file's size against the one on its page (PEP 700)."""
    link, size = file.link, file.answer.size
    if file.answer.ok and link.size is not None and link.size >= 0 and size is not None and link.size != size:
        yield SAME_SIZE.violation(file.url, f"{link.filename} has {size} bytes; {file.page} says {link.size}")


def _check_versions(page: Page) -> Iterator[Breach]:
    if page.versions is None:
        yield VERSIONS, "there is no key versions"
        return
    listed = [version_or_none(text) or text for text in page.versions]
    if len(set(listed)) < len(listed):
        yield VERSIONS, "versions lists a version twice"
    files = {named[1] for link in page.links if (named := name_and_version(link.filename))}
    if missing := sorted(files - set(listed)):
        yield VERSIONS, f"versions lacks {', '.join(map(str, missing))}"


def _is_time(text: str) -> bool:
    for form in _FORMS:
        with suppress(ValueError):
            return bool(dt.datetime.strptime(text, form))  # noqa: DTZ007 - Z is part of the form
    return False


_NO_WARNING: Final = installs("without a warning")
STATUS: Final = rule(
    "792.1",
    "The status is active, archived, quarantined or deprecated.",
    _NO_WARNING,
    section="Project status markers",
)
QUARANTINED: Final = rule(
    "792.2", "A quarantined project offers no files.", _NO_WARNING, section="Project status markers"
)
_status_rule = partial(rule, section="Status markers in the index APIs")
STATUS_VERSION: Final = _status_rule("792.3", "A page that gives the status has API version 1.4 or later.", _NO_WARNING)
TEXTS: Final = _status_rule(
    "792.4", "In JSON, the status and its reason are texts.", _NO_WARNING, fails("refuses the page")
)
SAME_STATUS: Final = _status_rule("792.5", "The status and its reason are the same in HTML and JSON.", _NO_WARNING)

_BEFORE: Final = frozenset({None, "1.0", "1.1", "1.2", "1.3"})
_STATUSES: Final = frozenset({"active", "archived", "quarantined", "deprecated"})


def check_status(page: Page) -> Iterator[Breach]:
    """Check the status on a project's page (PEP 792)."""
    if page.status is not None and page.status not in _STATUSES:
        yield STATUS, f"the status is {page.status!r}"
    if page.status is not None and page.version in _BEFORE:
        yield STATUS_VERSION, f"the status needs API version 1.4; the page has {page.version}"
    if page.status == "quarantined" and page.links:
        yield QUARANTINED, f"it is quarantined and lists files: {len(page.links)}"


def compare_statuses(html: Page, json: Page) -> Iterator[Breach]:
    """Compare the status in the forms of a project's page (PEP 792)."""
    stated = {page.form: (page.status or "active", page.status_reason or "") for page in (html, json)}
    if len(set(stated.values())) > 1:
        parts = [f"{form} says {status!r} with the reason {reason!r}" for form, (status, reason) in stated.items()]
        yield SAME_STATUS, ", ".join(sorted(parts))


VALUE: Final = rule(
    "658.1",
    "The value of data-core-metadata is true, or <hash name>=<hash>.",
    fails("the hash does not match"),
    fails("refuses a page in JSON"),
)
SIDECAR: Final = rule(
    "658.2",
    "The METADATA that a page announces lies at the file's URL + .metadata.",
    fails("HTTP error 404 for .metadata"),
    fails("failed to fetch .metadata"),
)
SIDECAR_HASH: Final = rule(
    "658.3",
    "The METADATA that is served has the hash that the page gives.",
    fails("the hashes do not match"),
    fails("hash mismatch for package metadata"),
)
SAME_METADATA: Final = rule(
    "658.4",
    "The METADATA that is served is the one inside the wheel.",
    fails("inconsistent version if that differs; else resolves by the sidecar"),
    installs("resolves by the sidecar, whatever the wheel says"),
    section="Rationale",
)
NAME: Final = rule(
    "658.5",
    "METADATA has the name and the version of the file's name.",
    fails("inconsistent version"),
    fails("refuses it; where only the local label is missing, uv sync installs it on every run"),
)
TWINS: Final = rule(
    "714.1",
    "data-core-metadata and data-dist-info-metadata have the same value.",
    installs("reads data-core-metadata"),
    section="Servers",
)
LEGACY: Final = rule(
    "714.2",
    "Where there is data-dist-info-metadata, there is data-core-metadata.",
    installs("reads neither, and downloads the wheel to resolve"),
    installs("reads the older attribute"),
    section="Servers",
)


def check_announced_metadata(page: Page) -> Iterator[Breach]:
    """Check the metadata attributes on a project's page (PEP 658 and 714)."""
    for link in page.links:
        value, legacy = link.core_metadata, link.legacy_metadata
        name, _, digest = (value or "true").partition("=")
        if (name, digest) != ("true", "") and not is_hash(name, digest):
            yield VALUE, f"{link.filename} has data-core-metadata={value!r}"
        if page.form is Form.JSON or legacy is None:
            continue
        if value is None:
            yield LEGACY, f"{link.filename} has data-dist-info-metadata only"
        elif legacy != value:
            yield TWINS, f"{link.filename} has data-core-metadata={value!r} and data-dist-info-metadata={legacy!r}"


def check_sidecar(file: ExaminedFile) -> Iterator[Violation]:
    """Check a file's METADATA and its sidecar (PEP 658)."""
    link, sidecar = file.link, file.sidecar
    url = file.url + SIDECAR_SUFFIX
    if sidecar is not None:
        name, _, digest = (link.core_metadata or "").partition("=")
        if not sidecar.ok:
            yield SIDECAR.violation(url, f"the METADATA of {link.filename} {sidecar.failure}")
            return
        if is_hash(name, digest):
            actual = hashlib.new(name, sidecar.content, usedforsecurity=False).hexdigest()
            if actual != digest.lower():
                yield SIDECAR_HASH.violation(url, f"METADATA has {name} {actual}; {file.page} says {digest}")
                return
        if file.metadata is not None and file.metadata != sidecar.content:
            yield SAME_METADATA.violation(url, f"differs from METADATA in {link.filename}")
            return
    if file.resolved and (named := name_and_version(link.filename)):
        project, version = canonicalize_name(file.resolved.name), file.resolved.version
        if (project, version) != named:
            yield NAME.violation(file.metadata_url, f"METADATA of {link.filename} is of {project} {version}")


_UNREAD: Final = installs("ignores attestations")

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
    "740.4", "A provenance object has a bundle, and each bundle an attestation.", _UNREAD, section="Provenance objects"
)


class _Envelope(BaseModel):
    statement: str
    signature: str


class _Attestation(BaseModel):
    version: int
    verification_material: dict[str, object]
    envelope: _Envelope


class _Publisher(BaseModel):
    kind: str


class _Bundle(BaseModel):
    publisher: _Publisher
    attestations: tuple[_Attestation, ...]


class _Provenance(BaseModel):
    version: int
    attestation_bundles: tuple[_Bundle, ...]


class _Subject(BaseModel):
    name: str
    digest: dict[str, str]


class _Statement(BaseModel):
    subject: tuple[_Subject, ...]


def check_provenance_url(page: Page) -> Iterator[Breach]:
    """Check the provenance URLs on a project's page (PEP 740)."""
    for link in page.links:
        if link.provenance is not None and not is_secure(link.provenance):
            yield URL, f"{link.filename} has the provenance {link.provenance!r}"


def check_provenance(file: ExaminedFile) -> Iterator[Violation]:
    """Check the provenance of a file (PEP 740)."""
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


_NO_VARIANTS: Final = installs("ignores variant wheels")
_WITH_PREVIEW: Final = installs("ignores variant wheels; with its preview of them on it fails: invalid metadata")
LISTED: Final = rule(
    "825.1",
    "A page that lists variant wheels lists the variants.json of their version.",
    _NO_VARIANTS,
    installs("ignores variant wheels, unless its preview of them is on and variants.json is there"),
    section="Index-level metadata",
)
READABLE: Final = rule(
    "825.2",
    "variants.json can be read, and follows a known draft.",
    _NO_VARIANTS,
    _WITH_PREVIEW,
    section="Index-level metadata",
)
ITSELF: Final = rule(
    "825.3",
    "A variant wheel has a variant.json with the properties of its label and no other.",
    _NO_VARIANTS,
    _WITH_PREVIEW,
    section="Variant metadata",
)


def check_variant_lists(page: Page) -> Iterator[Breach]:
    """Check that a project's page with variant wheels lists their variants (PEP 825)."""
    names = [link.filename for link in page.links]
    listed = {name_and_version(name) for name in names if name.endswith(VARIANTS_SUFFIX)}
    variants = Counter(name_and_version(name) for name in names if split_label(name)[1])
    for named, count in variants.items():
        if named and named not in listed:
            yield LISTED, f"it lists variant wheels ({count}) and no {variants_filename(*named)}"


def check_variant(file: ExaminedFile) -> Iterator[Violation]:
    """Check a list of variants, or a variant wheel (PEP 825)."""
    name = file.link.filename
    if file.variants and file.variants.ok and (fault := _read(file.variants.content)[1]):
        yield READABLE.violation(file.url, f"{name}: {fault}")
    _, label = split_label(name)
    if label is None or file.inside is None or file.inside.broken:
        return
    if file.inside.variant is None:
        yield ITSELF.violation(file.url, f"{name} has no {VARIANT_FILE}")
        return
    metadata, fault = _read(file.inside.variant)
    if fault:
        yield ITSELF.violation(file.url, f"{name}: {VARIANT_FILE}: {fault}")
    elif metadata and [*metadata.variants] != [label]:
        named = ", ".join(metadata.variants) or "none"
        yield ITSELF.violation(file.url, f"{name} is the variant {label}, and its {VARIANT_FILE} says {named:.200}")


def _read(content: bytes) -> tuple[VariantMetadata | None, str]:
    """Variant metadata, None if unreadable, and its fault, empty if it has none."""
    try:
        metadata = read_variant_metadata(content)
    except UnreadableError as error:
        return None, str(error)
    return metadata, "" if metadata.is_known else f"its $schema is {metadata.schema!r:.200}, which is not known"
