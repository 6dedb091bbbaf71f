"""Releases and ledger of a bucket: ``files/HASH/`` has a wheel and its files, ``v2026-11-21/`` its release.

A release exists once its manifest does. No release names the files of an interrupted publication; the next publication
of those wheels reuses them, and otherwise they can be removed. The ledger is one object, replaced as a whole on
condition that it is still the one that was read.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

from wheelmill.errors import NetworkError, RejectedError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.ledger import Ledger, Opened, write_archive
from wheelmill.release.ledger.records import date_tags, is_like_date_tag
from wheelmill.release.ledger.releases import ReadFiles, Releases, WantedFiles, cached_read, published
from wheelmill.release.manifest.record import MANIFEST, ManifestEntry, entry_of, manifest_of
from wheelmill.release.publish_lease import PublishLease
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.store import (
    KEPT,
    Asset,
    Orphan,
    PlainStore,
    Publication,
    Quotas,
    RefusedWheel,
    attestations_of,
    checked_wheel,
    files_beside,
    files_of_release,
)
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import atomic_write, sha256_of_bytes
from wheelmill.system.progress import Clock, Progress
from wheelmill.web.transport import PATIENT
from wheelmill.wheel.name import WheelFile

FILES: Final = "files"
"""The folder with a folder for each wheel."""
FOREVER: Final = "public, max-age=31536000, immutable"
"""Cache header of files that have their hash in their address or never change (RFC 8246)."""


class S3Publisher:
    """Publisher that holds the publish lease; see `Publisher`."""

    def __init__(
        self, bucket: Bucket, lease: PublishLease, progress: Progress, *, used: Collection[ReleaseTag], now: datetime
    ) -> None:
        self._bucket, self._lease, self._progress, self._now = bucket, lease, progress, now
        self._used = set(used)
        self._sent: list[tuple[TestedWheel, ManifestEntry]] = []
        self.over = False

    @property
    def count(self) -> int:
        """See `Publisher.count`."""
        return len(self._sent)

    def add(self, wheels: Sequence[TestedWheel]) -> tuple[RefusedWheel, ...]:
        """See `Publisher.add`."""
        refusals: list[RefusedWheel] = []
        for number, wheel in enumerate(wheels, start=1):
            self._progress.line(f"sending {wheel.file.filename} ({number} of {len(wheels)})")
            try:
                self._lease.renew_if_due()
                beside = {**files_beside(wheel), **attestations_of([wheel])}.items()
                assets = [*(Asset.of_bytes(name, content) for name, content in beside), Asset.of_wheel(wheel.file)]
                for asset in assets:  # no release names a different object that is there
                    self._bucket.ensure(f"{FILES}/{wheel.file.sha256}/{asset.name}", asset, cache=FOREVER)
            except TimeIsOver:
                self.over = True  # wheels that arrived are still published
                return tuple(refusals)
            except (RejectedError, OSError) as error:
                reason = f"did not arrive: {error}"
                refusals.append(RefusedWheel(filename=wheel.file.filename, code="not-sent", reason=reason))
            else:
                self._sent.append((wheel, entry_of(wheel)))
        if not self._sent:
            raise ReleaseError("nothing-sent", "\n".join(("nothing could be sent:", *map(str, refusals))))
        return tuple(refusals)

    def publish(self) -> Publication:
        """See `Publisher.publish`; if another publisher takes the tag first, use the next one."""
        sent, self._sent = self._sent, []
        self._lease.renew()
        while True:
            tag = next(tag for tag in date_tags(self._now) if tag not in self._used)
            self._used.add(tag)
            manifest = manifest_of(tag, [entry for _, entry in sent], now=self._now)
            files = files_of_release(manifest, [wheel for wheel, _ in sent])
            if all(self._claim(f"{tag}/{name}", files[name]) for name in reversed(files)):  # the manifest comes last
                return Publication(releases=(manifest,))

    def _claim(self, key: str, content: bytes) -> bool:
        """Create an object that is never replaced; False if another publisher created a different one."""
        failure: NetworkError | None = None
        for pause in (0.0, *PATIENT):
            self._bucket.clock.sleep(pause)
            try:
                if self._bucket.write_verified(key, content, cache=FOREVER, over=None):
                    return True
                _, existing = self._bucket.read(key)
                if existing is not None:
                    return existing == content
            except NetworkError as error:
                failure = error
        raise failure or NetworkError("object-unusable", f"{self._bucket}/{key} can neither be written nor read")


def orphaned_wheels(bucket: Bucket, releases: Releases, now: datetime, *, remove: bool) -> list[Orphan]:
    """Find wheels that no release names; see `Store.orphans`."""
    written: defaultdict[str, dict[str, datetime]] = defaultdict(dict)
    for key, _, at in bucket.keys(f"{FILES}/"):
        if at:
            written["/".join(key.split("/")[:2])][key] = at
    doubts: list[str] = []
    state = published(releases, doubts.append)  # read after listing the wheels, so that concurrent releases are known
    if doubts:
        message = "\n".join(("it cannot be said which wheels no release names:", *doubts))
        raise ReleaseError("leftovers-doubtful", message)
    named = {f"{FILES}/{wheel.sha256}" for wheel, _ in state.wheels}
    left = []
    for folder in sorted(written.keys() - named):
        keys = written[folder]
        age = now - max(keys.values())
        if removed := remove and age > KEPT:
            for key in keys:
                bucket.remove(key)
        wheel = next((key for key in keys if key.endswith(".whl")), folder)
        left.append(Orphan(name=wheel, age=age, files=len(keys), removed=removed))
    return left


LEDGER: Final = "ledger.tar.gz"


@dataclass(frozen=True, kw_only=True)
class LedgerObject:
    """Archive in a bucket; its revisions are ETags."""

    bucket: Bucket

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`."""
        return f"{self.bucket}/{LEDGER}"

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; one request."""
        return self.bucket.read(LEDGER, seen=seen)

    def write(self, opened: Opened, files: Mapping[str, bytes], why: str) -> str | None:  # noqa: ARG002 - has no history
        """See `LedgerPlace.write`; two requests."""
        return self.bucket.write_verified(LEDGER, write_archive(files), cache="no-cache", over=opened.revision)


MAX_OBJECT: Final = 5 * 10**9
"""Bytes that a wheel must stay under, as it is sent in one request: S3 takes 5 GiB, R2 a little less.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
https://developers.cloudflare.com/r2/platform/limits/
"""
_STALE: Final = timedelta(minutes=15)
"""Silence after which a publisher counts as dead: it renews its lease before each wheel."""


@dataclass(frozen=True, kw_only=True)
class S3Store(PlainStore):
    """Releases of a bucket."""

    bucket: Bucket
    address: str | None = None
    """Public URL of the prefix; None takes that of the S3 API."""
    quotas = Quotas(asset=MAX_OBJECT)
    lists_at_once = False  # with 1,000 keys in an answer, a hundred thousand wheels take 300 answers

    @property
    def clock(self) -> Clock:
        """See `Releases.clock`."""
        return self.bucket.clock

    @functools.cached_property
    def ledger(self) -> Ledger:
        """Object beside the releases."""
        return Ledger(LedgerObject(bucket=self.bucket), self.clock)

    def tags(self) -> frozenset[ReleaseTag]:
        """See `Releases.tags`; a listing of all parts of keys before the first slash."""
        return frozenset(ReleaseTag(name) for name in self.bucket.folders() if is_like_date_tag(name))

    def is_published(self, tag: ReleaseTag) -> bool:
        """See `Releases.is_published`; a release has a manifest."""
        return self.bucket.find(f"{tag}/{MANIFEST}") is not None

    def read_each(self, wanted: WantedFiles, filename: str) -> ReadFiles:
        """See `Releases.read_each`."""

        def download(tag: ReleaseTag, file: IO[bytes]) -> Sha256:
            _, content = self.bucket.read(key := f"{tag}/{filename}")
            if content is None:
                raise NetworkError("object-absent", f"there is no {self.bucket}/{key}", status=HTTPStatus.NOT_FOUND)
            file.write(content)
            return sha256_of_bytes(content)

        yield from cached_read(wanted, download)

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Releases.assets`; wheels lie under their hashes, so every release gets the names of all files."""
        names = frozenset(key.rpartition("/")[2] for key, _, _ in self.bucket.keys(f"{FILES}/"))
        return dict.fromkeys(self.tags(), names)

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        with atomic_write(copy) as file:
            self.bucket.save(f"{self.folder_of(sha256)}/{filename}", file)
        return checked_wheel(copy, tag, sha256)

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:
        """See `Store.reason_to_refuse`."""
        if wheel.size >= MAX_OBJECT:
            return f"has {wheel.size} bytes; S3 takes less than {MAX_OBJECT} at once: build fewer architectures"
        return None

    def check_can_publish(self) -> None:
        """See `Store.check_can_publish`; credentials are needed."""
        self.bucket.check_credentials()

    @contextmanager
    def publisher(self, *, now: datetime, progress: Progress, until: float | None) -> Iterator[S3Publisher]:
        """See `Store.publisher`."""
        self.check_can_publish()
        lease = PublishLease(self.ledger, self.bucket.clock, progress, until, stale=_STALE)
        with lease.held() as used:
            yield S3Publisher(self.bucket, lease, progress, used=used, now=now)

    def orphans(self, *, remove: bool, progress: Progress) -> list[Orphan]:
        """See `Store.orphans`; wheels that no release names."""
        lease = PublishLease(self.ledger, self.clock, progress, stale=_STALE)
        with lease.held_now() if remove else nullcontext():
            return orphaned_wheels(self.bucket, self, self.clock.utc(), remove=remove)

    def url_from(self, site: Path) -> str:  # noqa: ARG002 - it is the same from everywhere
        """See `Store.url_from`; a URL."""
        return self.address or self.bucket.address

    def folder_of(self, sha256: Sha256) -> str:
        """See `Store.folder_of`."""
        return f"{FILES}/{sha256}"
