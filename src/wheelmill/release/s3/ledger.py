"""The ledger of a bucket: one object, replaced whole by whoever has read the one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wheelmill.release.ledger.archive import write_archive
from wheelmill.release.s3.bucket import Bucket

LEDGER: Final = "ledger.tar.gz"


@dataclass(frozen=True, kw_only=True)
class LedgerObject:
    """An archive in a bucket; its states are named by their etags."""

    bucket: Bucket

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`."""
        return f"{self.bucket}/{LEDGER}"

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; one request."""
        return self.bucket.read(LEDGER, seen=seen)

    def write(
        self,
        revision: str | None,
        before: Mapping[str, bytes],  # noqa: ARG002 - the archive is written whole
        after: Mapping[str, bytes],
        why: str,  # noqa: ARG002 - there is no history
    ) -> str | None:
        """See `LedgerPlace.write`; two requests."""
        return self.bucket.settle(LEDGER, write_archive(after), cache="no-cache", over=revision)
