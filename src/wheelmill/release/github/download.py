"""Downloading published files as everybody does: without a token, not through the API.

Such downloads do not count towards limits of the API. Each release is checked in this way once it is published: an
index must not name a file that cannot be downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from wheelmill.errors import NetworkError, ReleaseError
from wheelmill.names import Sha256
from wheelmill.release.github.connection import Repository
from wheelmill.release.manifest import Manifest, ManifestEntry
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import Clock
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.web.transport import PATIENT, Retries


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """The files of a repository's published releases. Methods raise NetworkError for one that cannot be fetched."""

    repository: Repository
    clock: Clock
    web: Web

    def read(self, tag: str, filename: str) -> bytes:
        """Read a small file."""
        return self.web.read(self.repository.download(tag, filename))

    def save(self, tag: str, filename: str, file: IO[bytes]) -> Sha256:
        """Copy a file of any size into another one; returns its hash."""
        return self.web.download(self.repository.download(tag, filename), file).sha256

    def size(self, tag: str, filename: str) -> int | None:
        """Ask for one byte of a file, and return how many the server says that there are."""
        answer = self.web.get(url := self.repository.download(tag, filename), span="0-0")
        if not answer.ok:
            raise NetworkError("download-failed", f"{url}: {answer.outcome}")
        return answer.size


@contextmanager
def downloads_from(repository: Repository, clock: Clock) -> Iterator[Downloads]:
    """Keep connections open while files are read."""
    with Web(credentials=no_credentials, retries=Retries(clock.sleep)) as web:
        yield Downloads(repository=repository, clock=clock, web=web)


def probe(downloads: Downloads, manifest: Manifest, *, unhashed: frozenset[str]) -> None:
    """Check that everybody can download every wheel and sidecar of a release.

    Sidecars are read and compared. Of a wheel the size is asked for: its hash was compared with GitHub's own digest
    before. Where GitHub gave none, the wheel is read whole.

    Args:
        downloads: reads without a token.
        manifest: what the release promises of its files.
        unhashed: names of the files that GitHub gave no digest for.

    Raises:
        ReleaseError: names every file that is not there, or not as it should be.
    """
    pending = manifest.wheels
    faults: list[str] = []
    for pause in (0.0, *PATIENT):
        downloads.clock.sleep(pause)
        found = [(entry, _fault(downloads, manifest.tag, entry, whole=entry.filename in unhashed)) for entry in pending]
        pending = tuple(entry for entry, fault in found if fault)
        faults = [fault for _, fault in found if fault]
        if not faults:
            return
    raise ReleaseError(
        "not-public",
        "\n".join((f"{manifest.tag} is published, but not for everybody:", *faults)),
        hint="is the repository public?",
    )


def _fault(downloads: Downloads, tag: str, entry: ManifestEntry, *, whole: bool) -> str | None:
    sidecar = entry.filename + SIDECAR_SUFFIX
    try:
        metadata = sha256_of_bytes(downloads.read(tag, sidecar))
        if metadata != entry.metadata_sha256:
            return f"{sidecar} has sha256 {metadata} instead of {entry.metadata_sha256}"
        if (size := downloads.size(tag, entry.filename)) != entry.size:
            return f"{entry.filename} has {size} bytes instead of {entry.size}"
        if whole and (sha256 := _hash(downloads, tag, entry.filename)) != entry.sha256:
            return f"{entry.filename} has sha256 {sha256} instead of {entry.sha256}"
    except NetworkError as error:
        return str(error)
    return None


def _hash(downloads: Downloads, tag: str, filename: str) -> str:
    with Path(os.devnull).open("wb") as nowhere:
        return downloads.save(tag, filename, nowhere)
