"""The ledger of a folder of releases: one archive beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelmill.errors import ReleaseError
from wheelmill.release.ledger.archive import write_archive
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.system.locks import hold, wait_silently


@dataclass(frozen=True, kw_only=True)
class LedgerFile:
    """An archive on this disk; it is replaced whole."""

    path: Path

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`; the path."""
        return str(self.path)

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; a state is named by the hash of its archive."""
        try:
            archive = self.path.read_bytes()
        except FileNotFoundError:
            return None, None
        except OSError as error:
            raise ReleaseError("ledger-unreadable", f"{self.path} cannot be read: {error.strerror}") from None
        revision = sha256_of_bytes(archive)
        return revision, None if revision == seen else archive

    def write(
        self,
        revision: str | None,
        before: Mapping[str, bytes],  # noqa: ARG002 - the archive is written whole
        after: Mapping[str, bytes],
        why: str,  # noqa: ARG002 - there is no history
    ) -> str | None:
        """See `LedgerPlace.write`."""
        archive = write_archive(after)
        try:
            with hold(self.path.with_name(f".{self.path.name}.lock"), wait=wait_silently):
                newest, _ = self.read(None)
                if newest != revision:
                    return None
                write_bytes(self.path, archive)
        except OSError as error:
            raise ReleaseError("ledger-not-writable", f"{self.path} cannot be written: {error.strerror}") from None
        return sha256_of_bytes(archive)
