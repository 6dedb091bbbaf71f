"""Interface of a release store: read all releases, fetch a wheel, publish a new release under a date tag.

A published release never changes; new files go under a new tag. A store keeps the ledger beside the releases. Each
wheel gets a software bill of materials: a copy of the one inside the wheel, or one made by inspecting the wheel.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, Protocol, Self

from wheelmill.errors import ReleaseError, UnreadableError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.releases import Releases
from wheelmill.release.manifest.record import (
    MANIFEST,
    SBOM_SUFFIX,
    Manifest,
    manifest_bytes,
    provenance_of,
    shared_bundles,
)
from wheelmill.release.manifest.rules import listed_of
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import Progress
from wheelmill.web.pages import PROVENANCE_SUFFIX, SIDECAR_SUFFIX
from wheelmill.wheel.archive import MAX_WHEEL, open_archive, read_member
from wheelmill.wheel.attestation import ATTESTATIONS
from wheelmill.wheel.build_facts import MAX_SBOM, OWN_SBOM, SBOMS, read_sbom
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import dist_info_of, licence_in, metadata_bytes, metadata_in, read_fields
from wheelmill.wheel.name import WheelFile, name_without_label


def sbom_of(wheel: TestedWheel) -> bytes:
    """Return the SBOM of a wheel; for one built elsewhere, with its name, licence and bundled libraries."""
    from wheelmill.wheel.bill_of_materials import Bill, bill_bytes  # half a second
    from wheelmill.wheel.shared_objects import shared_objects_of

    with wheel.file.path.open("rb") as file, open_archive(file) as archive:
        own = f"{dist_info_of(archive)}/{SBOMS}/{OWN_SBOM}"
        with suppress(UnreadableError):
            read_sbom(own, content := read_member(archive, own, MAX_SBOM))
            return content
        metadata = metadata_in(archive)
        bundled = {name: sha256_of_bytes(archive.read(name)) for name in archive.namelist() if is_bundled(name)}
    name = name_without_label(wheel.file.filename)
    return bill_bytes(
        Bill(
            project=name.project,
            version=str(name.version),
            contents=wheel.file.sha256,
            licence=licence_in(read_fields(metadata)),
            facts=None,
            bundled=bundled,
            holds_cuda_runtime=any(each.holds_cuda_runtime for each in shared_objects_of(wheel.file.path)),
        )
    )


@dataclass(frozen=True, kw_only=True)
class Asset:
    """File with the size and hash that it must arrive with."""

    name: str
    content: Path | bytes = field(repr=False)
    size: int
    """Bytes."""
    sha256: Sha256

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Self:
        """Make an asset from bytes in memory."""
        return cls(name=name, content=content, size=len(content), sha256=sha256_of_bytes(content))

    @classmethod
    def of_wheel(cls, file: WheelFile) -> Self:
        """Make an asset from a wheel on this disk."""
        return cls(name=file.filename, content=file.path, size=file.size, sha256=file.sha256)

    def open(self) -> BinaryIO:
        """Open the content for reading."""
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)


def checked_wheel(copy: Path, tag: ReleaseTag, sha256: Sha256) -> WheelFile:
    """Describe the copy of a published wheel; remove and refuse one with another hash than its manifest has."""
    wheel = WheelFile.at(copy)
    if wheel.sha256 != sha256:
        copy.unlink()
        raise ReleaseError("hash-differs", f"{tag}/{copy.name} has sha256 {wheel.sha256}; its manifest says {sha256}")
    return wheel


def files_of_release(manifest: Manifest, wheels: Iterable[TestedWheel]) -> dict[str, bytes]:
    """Return the files that a release has once: its manifest, and the attestations of its wheels if any."""
    listed_of(manifest)
    return {MANIFEST: manifest_bytes(manifest), **attestations_of(wheels)}


def attestations_of(wheels: Iterable[TestedWheel]) -> dict[str, bytes]:
    """Return the file with the attestations of wheels, if there are any."""
    bundles = dict.fromkeys(bundle for wheel in wheels for bundle in shared_bundles(wheel))
    return {ATTESTATIONS: b"".join(bundle + b"\n" for bundle in bundles)} if bundles else {}


def files_beside(wheel: TestedWheel) -> dict[str, bytes]:
    """Return the files beside a wheel, by name: sidecar, SBOM and, if it is attested, provenance."""
    filename = wheel.file.filename
    provenance = provenance_of(wheel)
    return {
        filename + SIDECAR_SUFFIX: metadata_bytes(wheel.file.path),
        filename + SBOM_SUFFIX: sbom_of(wheel),
        **({filename + PROVENANCE_SUFFIX: provenance} if provenance else {}),
    }


@dataclass(frozen=True, kw_only=True)
class RefusedWheel:
    """A wheel that was not released, and why."""

    filename: str
    code: str
    """Code of the reason, as an error has it."""
    reason: str
    unsigned: bool = False
    """True if the reason is a missing attestation, as when the job that attests was lost."""

    def __str__(self) -> str:
        """``X.whl did not arrive``."""
        return f"{self.filename} {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Outcome of a publication."""

    releases: tuple[Manifest, ...] = ()
    refusals: tuple[RefusedWheel, ...] = ()
    over: bool = False
    """True if the time ran out: wheels in no release are left for another run."""

    def __add__(self, other: Publication) -> Publication:
        """Combine the outcomes of two publications."""
        return replace(self, releases=self.releases + other.releases, refusals=self.refusals + other.refusals)


KEPT: Final = timedelta(days=1)
"""Time for which the remains of an interrupted publication are kept, since it may be resumed."""


@dataclass(frozen=True, kw_only=True)
class Orphan:
    """Remains of an interrupted publication."""

    name: str
    """The tag of a draft, or in a bucket the key of a wheel."""
    age: timedelta
    files: int
    removed: bool


@dataclass(frozen=True, kw_only=True)
class Quotas:
    """Limits of a store; None if there is no limit."""

    asset: int = MAX_WHEEL
    """Bytes that every file must stay under."""
    wheels: int | None = None
    """Most wheels of one release."""


class Publisher(Protocol):
    """Exclusive publisher of one release after the other; files given to it must exist until its next call."""

    @property
    def count(self) -> int:
        """Number of wheels in the current release."""

    @property
    def over(self) -> bool:
        """True if time ran out before everything was sent; wheels that arrived can still be published."""

    def add(self, wheels: Sequence[TestedWheel]) -> tuple[RefusedWheel, ...]:
        """Add wheels, at least one, to the current release, and return those that the store refuses.

        A new release gets a tag of today. Raises ReleaseError if no release was made; adding the same wheels again
        completes an interrupted one.
        """

    def publish(self) -> Publication:
        """Publish the current release; wheels that are added later go into another one. Raises as `add` does.

        The result is the release, and the wheels that were added but are not in it.
        """


class PlainStore(Protocol):
    """Store without jobs, limits and remains of publications, whose releases have a folder each."""

    def is_over(self, run: str) -> bool | None:  # noqa: ARG002 - there are no jobs
        """True if a run of jobs has ended, None if unknown; raises NetworkError if the host gives no answer."""
        return None

    @property
    def quotas(self) -> Quotas:
        """Limits of the store."""
        return Quotas()

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:  # noqa: ARG002 - every wheel is accepted
        """Return the reason why this store refuses a wheel, whatever its tests show; None if it accepts it."""
        return None

    def check_can_publish(self) -> None:
        """Check, before hours of building, that publishing is possible; raises UsageError if it is not."""
        return

    def orphans(self, *, remove: bool, progress: Progress) -> Sequence[Orphan]:  # noqa: ARG002 - there are none
        """Find the remains of interrupted publications: drafts, or wheels of a bucket that no release names.

        `remove` removes those older than a day. Raises ReleaseError if a publisher is at work then, or if the remains
        may be part of a release.
        """
        return ()

    def folder_of(self, sha256: Sha256) -> str | None:  # noqa: ARG002 - it is not in a folder of its own
        """Return the folder of a wheel, below `url_from`; None if it is that of its release."""
        return None


class Store(Releases, PlainStore, Protocol):
    """Place where releases are kept."""

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """Copy a released wheel into a folder; raises ReleaseError if it is absent or not as its manifest says."""

    def publisher(self, *, now: datetime, progress: Progress, until: float | None) -> AbstractContextManager[Publisher]:
        """Publish under tags of the day of `now`, in UTC, once no other publisher does.

        No more wheels are accepted after `until`, in seconds since the epoch; None sets no limit. Raises TimeIsOver if
        another publisher holds the lease for too long, and ReleaseError if the store cannot be written to.
        """

    def url_from(self, site: Path) -> str:
        """Return the parent of the releases' folders: a URL, or a path relative to the root of a site."""
