"""Attestations on their way: what jobs have to sign, what a release believes of it, and what an index lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from wheelmill.names import Sha256
from wheelmill.pipeline.gate import delivered_in, subjects_of
from wheelmill.release.manifest import MANIFEST, ListedRelease, Manifest
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.system.record_files import record_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.attestation import MAX_BUNDLE, WHEELS_WORKFLOW, Attested, Signer, verify_bundles


def write_wheel_checksums(path: Path, wheels: Iterable[TestedWheel]) -> None:
    """Write what is to be attested of wheels, as sha256sum does; nothing where there are none."""
    _write_checksums(path, (subject for wheel in wheels for subject in subjects_of(wheel)))


def write_manifest_checksums(path: Path, manifests: Iterable[Manifest]) -> None:
    """Write what is to be attested of releases, as sha256sum does; nothing where there are none."""
    subjects = ((f"{each.tag}/{MANIFEST}", sha256_of_bytes(record_bytes(each))) for each in manifests)
    _write_checksums(path, subjects)


def _write_checksums(path: Path, subjects: Iterable[tuple[str, Sha256]]) -> None:
    if lines := [f"{sha256}  {name}\n" for name, sha256 in subjects]:
        write_bytes(path, "".join(lines).encode())


def attested_in(directory: Path, signer: Signer) -> Attested:
    """Verify the attestations that lie beside delivered wheels, in files ``*.jsonl``.

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
        NetworkError: Sigstore's keys cannot be had.
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
