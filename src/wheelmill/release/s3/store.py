"""Releases of a bucket: ``files/HASH/`` has a wheel and what lies beside it, ``v2026-11-21/`` what its release says."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Final

from wheelmill.errors import NetworkError, ReleaseError, TimeIsOver, WheelmillError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.manifest import MANIFEST
from wheelmill.release.read_each import read_each
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.ledger import LedgerObject
from wheelmill.release.s3.left import left_wheels
from wheelmill.release.s3.publisher import FILES, S3Publisher
from wheelmill.release.store import LeftDraft, Quotas
from wheelmill.release.tags import is_date_tag, is_like_date_tag
from wheelmill.release.turn import Turn
from wheelmill.system.files import atomic_write
from wheelmill.system.progress import Clock, Progress
from wheelmill.wheel.name import WheelFile

MAX_OBJECT: Final = 5 * 10**9
"""Bytes that a wheel must stay under, as it is sent in one request: S3 takes 5 GiB, R2 a little less.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
https://developers.cloudflare.com/r2/platform/limits/
"""
_STALE: Final = timedelta(minutes=15)
"""After that a publisher that says nothing has ended. It says something before each wheel."""


@dataclass(frozen=True, kw_only=True)
class S3Store:
    """The releases of a bucket."""

    bucket: Bucket
    address: str | None = None
    """The URL of what has the prefix, for everybody; None takes that of the S3 API."""

    @property
    def clock(self) -> Clock:
        """See `Releases.clock`."""
        return self.bucket.clock

    @functools.cached_property
    def ledger(self) -> Ledger:
        """An object beside the releases."""
        return Ledger(LedgerObject(bucket=self.bucket), self.clock)

    def is_over(self, run: str) -> bool | None:  # noqa: ARG002 - a bucket has no jobs
        """See `Store.is_over`."""
        return None

    @property
    def quotas(self) -> Quotas:
        """Those of S3."""
        return Quotas(asset=MAX_OBJECT)

    def tags(self) -> frozenset[ReleaseTag]:
        """See `Releases.tags`; a listing, of all that stands before the first slash in keys."""
        return frozenset(
            ReleaseTag(name) for name in self.bucket.folders() if is_date_tag(name) or is_like_date_tag(name)
        )

    def is_published(self, tag: ReleaseTag) -> bool:
        """See `Releases.is_published`; a release has a manifest."""
        return self.bucket.find(f"{tag}/{MANIFEST}") is not None

    def read_each(
        self, wanted: Mapping[ReleaseTag, Sha256 | None], filename: str
    ) -> Iterator[tuple[ReleaseTag, bytes | WheelmillError]]:
        """See `Releases.read_each`."""

        def read(tag: ReleaseTag) -> bytes:
            _, content = self.bucket.read(key := f"{tag}/{filename}")
            if content is None:
                raise NetworkError("object-absent", f"there is no {self.bucket}/{key}", status=HTTPStatus.NOT_FOUND)
            return content

        yield from read_each(wanted, read)

    @property
    def lists_at_once(self) -> bool:
        """Of 1,000 keys in an answer, a hundred thousand wheels take 300."""
        return False

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Store.assets`; wheels lie under their hashes, so every release has what one of them has."""
        names = frozenset(key.rpartition("/")[2] for key, _ in self.bucket.keys(f"{FILES}/"))
        return dict.fromkeys(self.tags(), names)

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        with atomic_write(copy) as file:
            self.bucket.save(f"{self.folder_of(sha256)}/{filename}", file)
        wheel = WheelFile.at(copy)
        if wheel.sha256 != sha256:
            copy.unlink()
            raise ReleaseError(
                "hash-differs", f"{tag}/{filename} has sha256 {wheel.sha256}; its manifest says {sha256}"
            )
        return wheel

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
        turn = Turn(self.ledger, self.bucket.clock, progress, until, stale=_STALE)
        with turn.taken() as used:
            yield S3Publisher(self.bucket, turn, progress, used=used, now=now)

    def left_drafts(self, *, remove: bool, progress: Progress) -> list[LeftDraft]:
        """See `Store.left_drafts`; wheels that no release names."""
        clock = self.bucket.clock
        turn = Turn(self.ledger, clock, progress, until=clock.now(), stale=_STALE)  # who removes waits for nobody
        try:
            with turn.taken() if remove else nullcontext():
                return left_wheels(self.bucket, self, clock.utc(), remove=remove)
        except TimeIsOver:
            raise ReleaseError(
                "somebody-else", "somebody else is publishing now", hint="run this again later"
            ) from None

    def url_from(self, site: Path) -> str:  # noqa: ARG002 - it is the same from everywhere
        """See `Store.url_from`; a URL."""
        return self.address or self.bucket.address

    def folder_of(self, sha256: Sha256) -> str:
        """See `Store.folder_of`."""
        return f"{FILES}/{sha256}"
