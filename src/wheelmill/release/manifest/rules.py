"""Reading a manifest, which is untrusted, and the rules for its entries.

Entries are checked before a wheel is published and before it is listed. The behaviour of pip and uv behind each rule
was tested; see docs/what-an-index-has.md. A decoder reports only the first fault of a manifest; this module reports
every fault with its key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any, Final

from msgspec import DecodeError, ValidationError, convert, to_builtins
from msgspec.json import Decoder
from msgspec.structs import FieldInfo, fields
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.errors import ManifestError, ReleaseError
from wheelmill.names import Architecture, ProjectName, PythonVersion, Sha256, TorchVersion, read_range, read_requirement
from wheelmill.release.manifest.record import (
    MANIFEST,
    SCHEMA,
    ListedProvenance,
    ListedRelease,
    ListedWheel,
    Manifest,
    manifest_bytes,
)
from wheelmill.smoke.verdict import ListedEvidence
from wheelmill.web.credentials import Origin
from wheelmill.web.pages import MAX_DIGITS
from wheelmill.wheel.archive import MAX_WHEEL
from wheelmill.wheel.metadata import reservation
from wheelmill.wheel.name import WheelName, written_parts

Path = tuple[str | int, ...]
"""Place of a value in JSON: keys of objects, positions in lists."""
Fault = tuple[Path, str]
"""Place and fault."""

_MAX_FAULTS: Final = 100
_SHOWN_CHARACTERS: Final = 100
_FAMILY: Final = SCHEMA.rpartition("/")[0]


def faults_of_types(content: bytes) -> list[Fault]:
    """Find every invalid value of a manifest; none if the bytes are not a manifest."""
    try:
        plain = json.loads(content, parse_constant=float)
    except (ValueError, RecursionError):
        return []
    if not isinstance(plain, dict) or not _is_ours(schema := plain.get("schema")):
        return []
    if schema != SCHEMA:
        return [(("schema",), f"unsupported schema {quoted(schema)}: upgrade wheelmill, which reads {SCHEMA}")]
    return [*_faults(plain)]


def _is_ours(schema: object) -> bool:
    family, _, number = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    return family == _FAMILY and number.isdecimal()


def _faults(plain: dict[str, Any]) -> Iterator[Fault]:
    for path, value in values_in(plain):
        if isinstance(value, float) and not isfinite(value):
            yield path, f"expected a number, not {value}, which JSON does not know (RFC 8259, section 6)"
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            half = "which has half a surrogate pair (RFC 8259, section 8.2)"
            yield path, f"expected text, not {quoted(value)}, {half}"
    yield from _faults_of_keys(plain, [each for each in fields(ListedRelease) if each.name != "wheels"], ())
    wheels = plain.get("wheels")
    if not isinstance(wheels, list):
        yield ("wheels",), "expected a list"
        return
    for number, wheel in enumerate(wheels):
        if isinstance(wheel, dict):
            yield from _faults_of_keys(wheel, fields(ListedWheel), ("wheels", number))
        else:
            yield ("wheels", number), "expected an object"


def _faults_of_keys(plain: dict[str, Any], wanted: Sequence[FieldInfo], path: Path) -> Iterator[Fault]:
    for field in wanted:
        where = (*path, field.encode_name)
        if field.encode_name not in plain:
            if field.required:
                yield where, "is missing"
            continue
        try:
            convert(plain[field.encode_name], field.type)
        except ValidationError as error:
            problem, _, inner = str(error).partition(" - at `$")
            parts = inner.rstrip("`").replace("[", ".").replace("]", "").split(".")
            yield (*where, *(int(part) if part.isdecimal() else part for part in parts if part)), problem


def values_in(plain: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401 - JSON
    """Yield every scalar value of JSON, with its path."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from values_in(value, (*path, key))
    elif isinstance(plain, list | tuple):
        for number, value in enumerate(plain):
            yield from values_in(value, (*path, number))
    else:
        yield path, plain


def quoted(text: object) -> str:
    """Format a text for a message: quoted, short, and without terminal control characters."""
    written = ascii(text)
    return written if len(written) <= _SHOWN_CHARACTERS else f"{written[:_SHOWN_CHARACTERS]}..."


def format_faults(source: str, faults: Iterable[Fault]) -> str:
    """Format the faults of a file, one line each with the key; only the first fault of a value."""
    by_path: dict[Path, str] = {}
    for path, problem in faults:
        by_path.setdefault(path, problem)
    lines = [": ".join(filter(None, (source, _key_of(path), problem))) for path, problem in by_path.items()]
    if len(lines) > _MAX_FAULTS:
        lines[_MAX_FAULTS:] = [f"{source}: and {len(lines) - _MAX_FAULTS} more"]
    return "\n".join(lines)


def _key_of(path: Path) -> str:
    """Format a path: ``wheels[3].certificate.evidence``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_HASHES: Final = [each.name for each in fields(ListedWheel) if each.type is Sha256]
"""Keys of an entry that are hashes."""
_LONG_NUMBER: Final = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")
"""uv keeps numbers in 64 bits, and reads no version with a larger one; pip does."""
_DEP_URL: Final = re.compile(r"dep:[a-z]+(/[A-Za-z0-9._+-]+)+(@[A-Za-z0-9.<>=,]+)?")
"""The part of PEP 725 that is written here: a type, perhaps a namespace, a name, and a version or a range."""
_URL: Final = re.compile(r"https://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
"""The characters of RFC 3986, section 2."""


def faults_of_wheel(wheel: ListedWheel, name: WheelName) -> list[str]:
    """Check the entry of a wheel against its parsed file name; return faults such as ``size: expected ...``."""
    certificate = wheel.certificate
    reserved = [f"filename: {reason}"] if (reason := reservation(name.project)) else []
    faults = [*reserved, *name_faults(wheel.filename, name, wheel.name, wheel.version)]
    if spelling := spelling_fault(wheel.filename):
        faults.append(spelling)
    faults += [
        f"{key}: expected 64 hexadecimal digits in lower case, not {quoted(sha256)}"
        for key in _HASHES
        if not _SHA256.fullmatch(sha256 := getattr(wheel, key))
    ]
    if not 0 < wheel.size < MAX_WHEEL:
        faults.append(f"size: expected 1 to {MAX_WHEEL - 1:,} bytes, not {quoted(wheel.size)}")
    if wheel.attestation is not None and not _is_https(wheel.attestation):
        faults.append(f"attestation: expected a URL of https, not {quoted(wheel.attestation)}")
    faults += requirement_faults(wheel.requires_python, wheel.requires_dist)
    if certificate.sha256 != wheel.sha256:
        faults.append(f"certificate.sha256: it is the certificate of other bytes, {quoted(certificate.sha256)}")
    faults += _faults_of_evidence(certificate.evidence)
    codes = tuple(certificate.sizes.gpu_code) if certificate.sizes else ()
    if invalid := ", ".join(map(quoted, _invalid(Architecture.of_code, codes))):
        faults.append(f"certificate.sizes.gpu_code: expected a GPU architecture, not {invalid}")
    for key, urls in to_builtins(wheel.external or {}).items():
        faults += [f"external.{key}: expected a DepURL, not {quoted(url)}" for url in urls if not _is_dep_url(url)]
    if certificate.provenance:
        faults += _faults_of_provenance(certificate.provenance, wheel, name)
    return faults


@lru_cache(maxsize=4096)
def _is_dep_url(text: str) -> bool:
    return bool(_DEP_URL.fullmatch(text))


def spelling_fault(filename: str) -> str | None:
    """Check the spelling of a version: pip and uv normalize it, and a lock keeps it as written and then mismatches."""
    _, written, _ = written_parts(filename)
    version = str(Version(written))
    if written == version:
        return None
    return f"filename: expected the version '{version}', not '{written}': uv.lock keeps what is written"


def name_faults(filename: str, name: WheelName, project: str, version: str) -> tuple[str, ...]:
    """Check a file name, also against the name and the version in METADATA."""
    _, written, rest = written_parts(filename)
    return _name_faults(name.project, written, project, version) + _tag_faults(rest)


@lru_cache(maxsize=4096)  # wheels of one version have all of these in common
def _name_faults(project: ProjectName, written: str, metadata_name: str, metadata_version: str) -> tuple[str, ...]:
    version = Version(written)
    faults = []
    if not _is_of(project, version, metadata_name, metadata_version):
        said = f"{quoted(metadata_name)} {quoted(metadata_version)}"
        faults.append(f"name: METADATA says {said}, the file name {project} {version}")
    if _LONG_NUMBER.search(written):
        faults.append(f"filename: the version has a number of more than {MAX_DIGITS} digits")
    return tuple(faults)


def _is_of(project: ProjectName, version: Version, name: str, written: str) -> bool:
    """Check METADATA: pip refuses another name or version; ``uv sync`` installs the wheel again on every run."""
    try:
        return (canonicalize_name(name, validate=True), Version(written)) == (project, version)
    except (InvalidName, ValueError):
        return False


@lru_cache(maxsize=4096)  # wheels of one Python and platform share them
def _tag_faults(text: str) -> tuple[str, ...]:
    """Check for tags in capitals and too large build numbers: pip reads them, uv does not."""
    if text != text.lower() or _LONG_NUMBER.search(text):
        return (f"filename: expected tags in lower case, and no number of more than {MAX_DIGITS} digits, not '{text}'",)
    return ()


@lru_cache(maxsize=4096)  # wheels of one version require the same
def requirement_faults(requires_python: str | None, requires_dist: tuple[str, ...]) -> tuple[str, ...]:
    """Check the requirements of a wheel: pip or uv would skip a wheel with invalid ones."""
    faults = [("requires_python", _fault_in(read_range, requires_python))] if requires_python is not None else []
    faults += [
        ("requires_dist", _fault_in(lambda each: read_requirement(each).specifier, text)) for text in requires_dist
    ]
    return tuple(f"{key}: {fault}" for key, fault in faults if fault)


def _fault_in(read: Callable[[str], SpecifierSet], text: str) -> str | None:
    try:
        for clause in read(text):
            if clause.operator == "===":  # compares texts; uv accepts only versions
                Version(clause.version)
    except InvalidVersion as error:
        return f"{error}, in {quoted(text)}"
    except ValueError as error:
        return str(error)
    if not text.isprintable():
        return f"expected characters that can be seen, not {quoted(text)}"
    return f"{quoted(text)} has a number of more than {MAX_DIGITS} digits" if _LONG_NUMBER.search(text) else None


@lru_cache(maxsize=4096)  # wheels of one run share one
def _is_https(url: str) -> bool:
    with suppress(ValueError):
        return bool(_URL.fullmatch(url)) and Origin.of(url).is_secure
    return False


@lru_cache(maxsize=4096)  # wheels that were built alike have the same
def _faults_of_evidence(evidence: ListedEvidence) -> tuple[str, ...]:
    torches = tuple(fit.torch for fit in window.torches) if (window := evidence.torch_window) else ()
    glibcs = tuple(each for each in (evidence.glibc, evidence.glibcxx) if each is not None)
    checks = (
        ("sass", "a GPU architecture", _invalid(Architecture.of_code, evidence.sass)),
        ("ptx", "a GPU architecture", _invalid(Architecture.of_code, evidence.ptx)),
        ("glibc", "a version", _invalid(Version, glibcs)),
        ("torch_window.torches", "a torch", _invalid(TorchVersion.parse, torches)),
    )
    return tuple(
        f"certificate.evidence.{key}: expected {kind}, not {', '.join(map(quoted, words))}"
        for key, kind, words in checks
        if words
    )


@lru_cache(maxsize=4096)  # wheels that were built alike have the same words
def _invalid(read: Callable[[str], object], words: tuple[str, ...]) -> tuple[str, ...]:
    invalid = []
    for word in words:
        try:
            read(word)
        except ValueError:
            invalid.append(word)
    return tuple(invalid)


def _faults_of_provenance(made: ListedProvenance, wheel: ListedWheel, name: WheelName) -> Iterator[str]:
    key, cell = "certificate.provenance", made.built_for
    if made.sha256 != wheel.sha256:
        yield f"{key}.sha256: it is the provenance of other bytes, {quoted(made.sha256)}"
    if not all(map(_SHA256.fullmatch, (made.source_sha256, *made.patches))):
        yield f"{key}: expected hashes of 64 hexadecimal digits, of the source and of patches"
    if words := _invalid(PythonVersion.parse, made.pythons):
        yield f"{key}.pythons: expected Pythons, not {', '.join(map(quoted, words))}"
    if made.driver is not None and _invalid(Version, (made.driver,)):
        yield f"{key}.driver: expected the version of a driver, not {quoted(made.driver)}"
    if words := _invalid(Architecture.parse, made.architectures):
        yield f"{key}.architectures: expected GPU architectures, not {', '.join(map(quoted, words))}"
    try:
        version = cell.exact_version
        if cell.project != name.project or (version != wheel.version and Version(version) != name.version):
            yield f"{key}.cell: it is the provenance of a wheel of {quoted(cell.project)} {quoted(version)}"
    except ValueError as error:
        yield f"{key}.cell: {error}"


_OLDEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCKS_DIFFER: Final = timedelta(days=1)
WHEEL_FILENAME: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.+!-]{0,250}\.whl\Z")
"""The characters that a wheel's name may have (PEP 427, 440): no folder, no markup, and a name that disks take."""

_decoder: Final = Decoder(ListedRelease)


def manifest_from(content: bytes, *, source: str, now: datetime, tag: str | None = None) -> ListedRelease:
    """Read the manifest of the release with a `tag`, None if that is unknown; errors name its path or URL, `source`.

    It was published by `now`, apart from clock skew. Raises ManifestError, with all faults, if it belongs to another
    release, is invalid, or a newer wheelmill made it; and ReleaseError if it is no manifest.
    """
    try:
        release = _decoder.decode(content)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = ManifestError if (faults := faults_of_types(content)) else ReleaseError
        raise kind("manifest-invalid", format_faults(source, faults or [((), f"it is no manifest: {error}")])) from None
    if faults := [*_faults_of_content(release, tag, now), *_unseen(release, content)]:
        raise ManifestError("manifest-invalid", format_faults(source, faults))
    return release


def listed_of(manifest: Manifest) -> ListedRelease:
    """Read back a manifest that is about to be written, as its readers will."""
    source, now = f"{manifest.tag}/{MANIFEST}", manifest.published_at
    return manifest_from(manifest_bytes(manifest), source=source, tag=manifest.tag, now=now)


def _faults_of_content(release: ListedRelease, tag: str | None, now: datetime) -> Iterator[Fault]:
    if tag is not None and release.tag != tag:
        yield ("tag",), f"it is the manifest of {quoted(release.tag)}, not of {tag}"
    time = release.published_at
    if time.utcoffset():
        yield ("published_at",), f"expected a time in UTC such as 2026-11-21T12:30:15Z, not {time.isoformat()}"
    elif not _OLDEST <= time <= now + _CLOCKS_DIFFER:
        yield ("published_at",), f"nothing was published at {time.isoformat()}"
    names: set[str] = set()
    for number, wheel in enumerate(release.wheels):
        if not WHEEL_FILENAME.fullmatch(wheel.filename):
            yield ("wheels", number, "filename"), f"expected the file name of a wheel, not {quoted(wheel.filename)}"
        elif wheel.filename in names:
            yield ("wheels", number, "filename"), f"{wheel.filename} is named twice"
        names.add(wheel.filename)


def _unseen(release: ListedRelease, content: bytes) -> Iterator[Fault]:
    r"""Find invisible characters: NUL, terminal control sequences, changes of the writing direction.

    Manifests are nearly always plain ASCII, where only ``\u`` could write them.
    """
    if content.isascii() and not _has_escaped_characters(content) and b"\x7f" not in content:
        return
    for path, value in values_in(to_builtins(release)):
        if isinstance(value, str) and not value.replace("\n", "").replace("\t", "").isprintable():
            yield path, f"expected characters that can be seen, not {quoted(value)}"


def _has_escaped_characters(content: bytes) -> bool:
    r"""True if JSON contains ``\u``: one byte is found twenty times as fast as two."""
    place = content.find(b"\\")
    while place >= 0 and content[place + 1 : place + 2] != b"u":
        place = content.find(b"\\", place + 2)
    return place >= 0
