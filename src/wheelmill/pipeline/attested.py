"""Attestations along the pipeline: what jobs sign, what a release believes, and what an index lists."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from pathlib import Path

from msgspec.structs import replace

from wheelmill.errors import IntegrityError, ReleaseError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.pipeline.gate import delivered_in, subjects_of
from wheelmill.release.manifest import MANIFEST, ListedRelease, ListedWheel, Manifest
from wheelmill.release.store import Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.records import record_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.attestation import MAX_BUNDLE, WHEELS_WORKFLOW, Attested, Signer, verify_bundles
from wheelmill.wheel.metadata import dist_info_of, metadata_bytes
from wheelmill.wheel.name import VariantWheelName
from wheelmill.wheel.record import check_record
from wheelmill.wheel.variant import unmake_variant


def write_wheel_checksums(path: Path, wheels: Iterable[TestedWheel]) -> None:
    """Write what is to be attested of wheels, in the form of sha256sum; no file if there are none."""
    _write_checksums(path, (subject for wheel in wheels for subject in subjects_of(wheel)))


def write_manifest_checksums(path: Path, manifests: Iterable[Manifest]) -> None:
    """Write what is to be attested of releases, in the form of sha256sum; no file if there are none."""
    subjects = ((f"{each.tag}/{MANIFEST}", sha256_of_bytes(record_bytes(each))) for each in manifests)
    _write_checksums(path, subjects)


def _write_checksums(path: Path, subjects: Iterable[tuple[str, Sha256]]) -> None:
    if lines := [f"{sha256}  {name}\n" for name, sha256 in subjects]:
        write_bytes(path, "".join(lines).encode())


def attested_in(directory: Path, signer: Signer) -> Attested:
    """Verify the attestations beside delivered wheels, in files ``*.jsonl``.

    Raises:
        UsageError: this machine lacks what verifying takes.
    """
    paths = (path for path in delivered_in(directory, "jsonl") if path.is_file() and path.stat().st_size <= MAX_BUNDLE)
    return verify_bundles((path.read_bytes() for path in paths), signer, WHEELS_WORKFLOW)


def attested_part(
    manifest: ListedRelease, bundles: bytes, signer: Signer, warn: Callable[[str], None]
) -> ListedRelease:
    """Leave out the wheels of a release that are not attested, each with its sidecar.

    Args:
        manifest: what the release says of itself, which whoever could write to it may have forged.
        bundles: the attestations that the release has; nothing where it has none.
        signer: who must have attested.
        warn: told of each wheel that is left out.

    Raises:
        UsageError: this machine lacks what verifying takes.
        NetworkError: Sigstore's keys cannot be fetched.
    """
    files = verify_bundles([bundles], signer, WHEELS_WORKFLOW).files
    wheels = []
    for entry in manifest.wheels:
        subjects = (entry.filename, entry.sha256), (entry.filename + SIDECAR_SUFFIX, entry.metadata_sha256)
        if all(subject in files for subject in subjects):
            wheels.append(entry)
        else:
            warn(f"{manifest.tag}/{entry.filename} is not listed: {signer} does not attest it")
    return replace(manifest, wheels=tuple(wheels))


def derived_part(
    manifest: ListedRelease, store: Store, attested: Container[Sha256], warn: Callable[[str], None]
) -> ListedRelease:
    """Leave out the variant wheels of a release that are not attested wheels, merely packed in another way.

    Variant wheels are not attested themselves, and their manifest may be forged: so each is fetched and turned back
    into its plain wheel.

    Args:
        manifest: what the release says of itself.
        store: the store that has it.
        attested: the hashes of wheels that are attested.
        warn: told of each wheel that is left out.

    Raises:
        NetworkError: a wheel cannot be fetched now.
    """
    wheels = []
    for entry in manifest.wheels:
        if entry.plain is None or entry.plain not in attested:
            continue
        try:
            _check_derived(entry, manifest, store)
        except (IntegrityError, ReleaseError, UnreadableError) as error:
            warn(f"{manifest.tag}/{entry.filename} is not listed: {error}")
        else:
            wheels.append(entry)
    return replace(manifest, wheels=tuple(wheels))


def _check_derived(entry: ListedWheel, manifest: ListedRelease, store: Store) -> None:
    """Check that a variant wheel turns back into the plain wheel that its manifest names.

    Raises:
        IntegrityError: another one comes out, or RECORD or its sidecar is not that of what is in it.
        ReleaseError: its release does not have it, or has other bytes.
        UnreadableError: it cannot be read.
        NetworkError: it cannot be read now.
    """
    VariantWheelName.parse(entry.filename)  # no path
    with temporary_folder() as folder:
        file = store.fetch(manifest.tag, entry.filename, entry.sha256, folder).path
        if unmake_variant(file, folder).sha256 != entry.plain:
            raise IntegrityError("made-of-another", "it was made of another wheel than its manifest says")
        with file.open("rb") as opened, open_archive(opened) as archive:
            if finding := next(check_record(archive, dist_info_of(archive)), None):  # unmaking writes it anew
                raise IntegrityError("wheel-unfit", finding.detail)
        if sha256_of_bytes(metadata_bytes(file)) != entry.metadata_sha256:
            raise IntegrityError("sidecar-differs", "its sidecar is not its METADATA")
