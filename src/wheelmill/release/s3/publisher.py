"""Publishing in a bucket: wheels lie under their hashes, and a release exists once its manifest does.

What a publisher sent before it was interrupted is named by no release, and is reused by the next one that has those
wheels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final

from wheelmill.errors import NetworkError, RejectedError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag
from wheelmill.release.asset import Asset
from wheelmill.release.manifest import ManifestEntry, entry_of, manifest_of
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.store import (
    Publication,
    RefusedWheel,
    attestations_of,
    files_beside,
    files_of_release,
)
from wheelmill.release.tags import date_tags
from wheelmill.release.turn import Turn
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import Progress
from wheelmill.web.transport import PATIENT

FILES: Final = "files"
"""The folder with a folder for each wheel."""
FOREVER: Final = "public, max-age=31536000, immutable"
"""Of what has its hash in its address, or never changes (RFC 8246)."""


class S3Publisher:
    """Publishes in its turn; see `Publisher`."""

    def __init__(
        self, bucket: Bucket, turn: Turn, progress: Progress, *, used: Collection[ReleaseTag], now: datetime
    ) -> None:
        self._bucket, self._turn, self._progress, self._now = bucket, turn, progress, now
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
                self._turn.go_on()
                for asset in _assets_of(wheel):  # what is there and is another one, no release names
                    self._bucket.ensure(f"{FILES}/{wheel.file.sha256}/{asset.name}", asset, cache=FOREVER)
            except TimeIsOver:
                self.over = True  # what arrived is published all the same
                return tuple(refusals)
            except (RejectedError, OSError) as error:
                refusals.append(
                    RefusedWheel(filename=wheel.file.filename, code="not-sent", reason=f"did not arrive: {error}")
                )
            else:
                self._sent.append((wheel, entry_of(wheel)))
        if not self._sent:
            raise ReleaseError("nothing-sent", "\n".join(("nothing could be sent:", *map(str, refusals))))
        return tuple(refusals)

    def publish(self) -> Publication:
        """See `Publisher.publish`; of two that take one tag at once, the second takes the next one."""
        sent, self._sent = self._sent, []
        self._turn.look()
        while True:
            tag = next(tag for tag in date_tags(self._now) if tag not in self._used)
            self._used.add(tag)
            manifest = manifest_of(tag, [entry for _, entry in sent], now=self._now)
            files = files_of_release(manifest, [wheel for wheel, _ in sent])
            if all(self._claim(f"{tag}/{name}", files[name]) for name in reversed(files)):  # the manifest comes last
                return Publication(releases=(manifest,))

    def _claim(self, key: str, content: bytes) -> bool:
        """Create an object that is never replaced; False if somebody else created another one under its key."""
        failure: NetworkError | None = None
        for pause in (0.0, *PATIENT):
            self._bucket.clock.sleep(pause)
            try:
                if self._bucket.settle(key, content, cache=FOREVER, over=None):
                    return True
                _, found = self._bucket.read(key)
                if found is not None:
                    return found == content
            except NetworkError as error:
                failure = error
        raise failure or NetworkError("object-unusable", f"{self._bucket}/{key} can neither be written nor read")


def _assets_of(wheel: TestedWheel) -> Iterator[Asset]:
    """What lies beside a wheel, and the wheel."""
    for name, content in {**files_beside(wheel), **attestations_of([wheel])}.items():
        yield Asset.of_bytes(name, content)
    file = wheel.file
    yield Asset(name=file.filename, content=file.path, size=file.size, sha256=file.sha256)
