"""Deliveries of tested wheels and their attestations: signed by jobs, verified by a release, listed by an index.

A delivery comes from a folder, or group by group from the jobs of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from wheelmill.errors import IntegrityError, NetworkError, RejectedError, ReleaseError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.pipeline.gate import Gate, delivered_in, subjects_of
from wheelmill.pipeline.matrix_plan import MatrixPlan, Shard
from wheelmill.release.manifest.record import MANIFEST, ListedRelease, ListedWheel, Manifest, manifest_bytes
from wheelmill.release.publish import publish_each
from wheelmill.release.store import Publication, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.system.folders import remove_tree, temporary_folder
from wheelmill.system.progress import Progress, Warn
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.attestation import MAX_BUNDLE, Attested, Signer, verify_bundles
from wheelmill.wheel.metadata import dist_info_of, metadata_bytes
from wheelmill.wheel.name import VariantWheelName
from wheelmill.wheel.record import check_record
from wheelmill.wheel.variant import unmake_variant

if TYPE_CHECKING:
    from wheelmill.release.github.download import JobArtifacts


def write_wheel_checksums(path: Path, wheels: Iterable[TestedWheel]) -> None:
    """Write the checksums of wheels for their attestation, in the form of sha256sum; no file if there are none."""
    _write_checksums(path, (subject for wheel in wheels for subject in subjects_of(wheel)))


def write_manifest_checksums(path: Path, manifests: Iterable[Manifest]) -> None:
    """Write the checksums of releases for their attestation, in the form of sha256sum; no file if there are none."""
    subjects = ((f"{each.tag}/{MANIFEST}", sha256_of_bytes(manifest_bytes(each))) for each in manifests)
    _write_checksums(path, subjects)


def _write_checksums(path: Path, subjects: Iterable[tuple[str, Sha256]]) -> None:
    if lines := [f"{sha256}  {name}\n" for name, sha256 in subjects]:
        write_bytes(path, "".join(lines).encode())


def attested_in(directory: Path, signer: Signer) -> Attested:
    """Verify the attestations ``*.jsonl`` beside delivered wheels; raises UsageError if this machine cannot."""
    paths = (path for path in delivered_in(directory, "jsonl") if path.is_file() and path.stat().st_size <= MAX_BUNDLE)
    return verify_bundles((path.read_bytes() for path in paths), signer)


def attested_part(manifest: ListedRelease, bundles: bytes, signer: Signer, warn: Warn) -> ListedRelease:
    """Leave out the wheels of a release without an attestation of file and sidecar, and report each to ``warn``.

    An account with write access to the release may have forged the manifest. ``bundles`` are the attestations of the
    release, empty if it has none.
    """
    files = verify_bundles([bundles], signer).files
    wheels = []
    for entry in manifest.wheels:
        subjects = {(entry.filename, entry.sha256), (entry.filename + SIDECAR_SUFFIX, entry.metadata_sha256)}
        if subjects <= files.keys():
            wheels.append(entry)
        else:
            warn(f"{manifest.tag}/{entry.filename} is not listed: {signer} does not attest it")
    return structs.replace(manifest, wheels=tuple(wheels))


def derived_part(manifest: ListedRelease, store: Store, attested: Container[Sha256], warn: Warn) -> ListedRelease:
    """Leave out the variant wheels of a release that are not attested wheels, merely packed in another way.

    Variant wheels are not attested themselves, and their manifest may be forged: so each is fetched and turned back
    into its plain wheel. ``attested`` has the hashes of attested wheels.
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
    return structs.replace(manifest, wheels=tuple(wheels))


def _check_derived(entry: ListedWheel, manifest: ListedRelease, store: Store) -> None:
    VariantWheelName.parse(entry.filename)  # refuses a path
    with temporary_folder() as folder:
        file = store.fetch(manifest.tag, entry.filename, entry.sha256, folder).path
        if unmake_variant(file, folder).sha256 != entry.plain:
            raise IntegrityError("made-of-another", "it was made of another wheel than its manifest says")
        with file.open("rb") as opened, open_archive(opened) as archive:
            if finding := next(check_record(archive, dist_info_of(archive)), None):  # unmake_variant rewrites RECORD
                raise IntegrityError("wheel-unfit", finding.detail)
        if sha256_of_bytes(metadata_bytes(file)) != entry.metadata_sha256:
            raise IntegrityError("sidecar-differs", "its sidecar is not its METADATA")


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Folder of wheels on their way to a release."""

    folder: Path
    """The folder of the wheels and their certificates, or of folders with such wheels."""
    gate: Gate
    refusals: tuple[RefusedWheel, ...] = ()
    """Wheels that could not be read."""


def release_deliveries(
    deliveries: Iterable[Delivery],
    store: Store,
    *,
    attestation: str | None = None,
    progress: Progress,
    until: float | None = None,
) -> Publication:
    """Publish the wheels that their gates admit; raises ReleaseError if the store cannot be read or written.

    A delivery is on disk until the next one is asked for. ``attestation`` is the address of the attestation of all
    these wheels. No more wheels are taken after ``until``, in seconds since the epoch.
    """
    refused: list[RefusedWheel] = []

    def admitted() -> Iterator[list[TestedWheel]]:
        for delivery in deliveries:
            wheels, refusals = delivery.gate.admit(delivered_in(delivery.folder, "whl"))
            refused.extend((*delivery.refusals, *refusals))
            yield [replace(wheel, attestation=attestation) for wheel in wheels]

    publication = publish_each(store, admitted(), now=store.clock.utc(), progress=progress, until=until)
    return replace(publication, refusals=(*refused, *publication.refusals))


def deliveries_of_runs(
    artifacts: JobArtifacts, plan: MatrixPlan, gate_of: Callable[[Path, MatrixPlan], Gate], progress: Progress
) -> Iterator[Delivery]:
    """Download the artifacts of a plan's jobs, one group at a time to save disk space.

    Every job of a run can write artifacts, so a group delivers only its own wheels. ``gate_of`` makes their gate.
    """
    groups = list(plan.groups)
    for number, group in enumerate(groups, start=1):
        if not (kept := artifacts.of_group(group.group)):
            continue
        progress.step(f"{group.group} ({number} of {len(groups)})")
        refusals: list[RefusedWheel] = []
        with temporary_folder() as folder:
            for artifact in kept:
                own = folder / str(artifact)
                own.mkdir()
                try:
                    artifacts.unpack(artifact, own)
                except (NetworkError, RejectedError, UnreadableError) as error:
                    remove_tree(own)
                    reason = f"was not delivered whole: {error}"
                    refusals.append(RefusedWheel(filename=group.group, code=error.code, reason=reason))
            planned = MatrixPlan(shards=(Shard(include=(group,)),), waiting=())
            yield Delivery(folder=folder, gate=gate_of(folder, planned), refusals=tuple(refusals))
