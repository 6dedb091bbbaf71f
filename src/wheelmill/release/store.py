"""What a place for releases offers: to read them all, to fetch a wheel, and to publish one more under a tag of its day.

What is new goes under a new tag; what is published stays as it is. Beside releases it keeps which builds failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.releases import Releases
from wheelmill.release.manifest import MANIFEST, SBOM_SUFFIX, Manifest, listed_of
from wheelmill.release.pep740 import provenance_of, shared_bundles
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import Progress
from wheelmill.system.record_files import record_bytes
from wheelmill.web.pages import PROVENANCE_SUFFIX, SIDECAR_SUFFIX
from wheelmill.wheel.attestation import ATTESTATIONS
from wheelmill.wheel.limits import MAX_WHEEL
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.name import WheelFile


def files_of_release(manifest: Manifest, wheels: Iterable[TestedWheel]) -> dict[str, bytes]:
    """What every release has once: its manifest, and the attestations of its wheels where there are any.

    Raises:
        ReleaseError: nobody could read the manifest.
    """
    listed_of(manifest)
    return {MANIFEST: record_bytes(manifest), **attestations_of(wheels)}


def attestations_of(wheels: Iterable[TestedWheel]) -> dict[str, bytes]:
    """The file with the attestations of wheels, where there are any."""
    bundles = dict.fromkeys(bundle for wheel in wheels for bundle in shared_bundles(wheel))
    return {ATTESTATIONS: b"".join(bundle + b"\n" for bundle in bundles)} if bundles else {}


def files_beside(wheel: TestedWheel) -> dict[str, bytes]:
    """What a release has beside a wheel, by file name: sidecar, bill of materials, provenance where it is attested."""
    from wheelmill.release.sbom import sbom_of  # noqa: PLC0415 - half a second

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
    reason: str
    unsigned: bool = False
    """Whether the reason is that no job attested it, as when that job was lost."""

    def __str__(self) -> str:
        """``X.whl did not arrive``."""
        return f"{self.filename} {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What became of wheels that were to be released."""

    releases: tuple[Manifest, ...] = ()
    refusals: tuple[RefusedWheel, ...] = ()
    over: bool = False
    """Whether the time was not enough: what is in no release is left for another run."""

    def __add__(self, other: Publication) -> Publication:
        """What became of these wheels and of others."""
        return replace(self, releases=self.releases + other.releases, refusals=self.refusals + other.refusals)


KEPT: Final = timedelta(days=1)
"""For as long, what a publication left is not removed: it may be taken up."""


@dataclass(frozen=True, kw_only=True)
class LeftDraft:
    """What a publication left that broke off."""

    name: str
    """The tag of a draft, or in a bucket the key of a wheel."""
    age: timedelta
    files: int
    removed: bool


@dataclass(frozen=True, kw_only=True)
class Quotas:
    """How much a place for releases takes; None where it sets no limit."""

    asset: int = MAX_WHEEL
    """Bytes that every file must stay under."""
    wheels: int | None = None
    """How many wheels one release holds."""


class Publisher(Protocol):
    """One that publishes, while no other one does: it makes releases one after the other, each of several deliveries.

    What it is given is on disk until its next call, and no longer.
    """

    @property
    def count(self) -> int:
        """How many wheels the release has that is being made."""

    @property
    def over(self) -> bool:
        """Whether the time was not enough for all that was added; what arrived can still be published."""

    def add(self, wheels: Sequence[TestedWheel]) -> tuple[RefusedWheel, ...]:
        """Put wheels, at least one, into the release that is being made. A new one gets a tag of today.

        Returns:
            Those that the store does not take.

        Raises:
            ReleaseError: there is no release; what was begun is completed when the same wheels are added again.
        """

    def publish(self) -> Publication:
        """Let everybody see the release that is being made; what is added later is for another one.

        Returns:
            The release, and the wheels that were added and are not in it after all.

        Raises:
            ReleaseError: as for `add`.
        """


class Store(Releases, Protocol):
    """Where releases are kept."""

    def is_over(self, run: str) -> bool | None:
        """Whether a run of jobs has ended, by the number that the host gave it; None where nobody knows.

        Raises:
            NetworkError: the host does not say.
        """

    @property
    def quotas(self) -> Quotas:
        """How much it takes."""

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """Copy a released wheel into a folder.

        Raises:
            ReleaseError: it is not there, or has other bytes than its manifest says.
        """

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:
        """Why a wheel will not be published here, whatever its tests say; None when it can be."""

    def check_can_publish(self) -> None:
        """Look for what publishing needs, before hours are spent on something to publish.

        Raises:
            UsageError: this machine lacks it.
        """

    def publisher(self, *, now: datetime, progress: Progress, until: float | None) -> AbstractContextManager[Publisher]:
        """Publish, once nobody else does.

        Args:
            now: the time of publication, in UTC.
            progress: shows the steps that take long.
            until: when no more wheels are taken, in seconds since the epoch; None waits as long as it takes.

        Raises:
            TimeIsOver: somebody else publishes for too long.
            ReleaseError: the store cannot be written to.
        """

    def left_drafts(self, *, remove: bool, progress: Progress) -> Sequence[LeftDraft]:
        """Find what is left of releases that nobody published: drafts, or wheels of a bucket that no release names.

        Args:
            remove: whether those of more than a day ago are removed.
            progress: shows the steps that take long.

        Raises:
            ReleaseError: nothing is removed while somebody publishes, or where that may be part of a release.
        """

    def url_from(self, site: Path) -> str:
        """What lies above the releases' folders: a URL, or a path as seen from the root of a site."""

    def folder_of(self, sha256: Sha256) -> str | None:
        """The folder, below `url_from`, of a wheel that does not lie in its release's; None for one that does."""
