"""Ledger: read as a whole, and changed by a function of its newest state.

A change reads the state, computes the next one and writes it on condition that no other writer was faster; otherwise it
starts again. So a change is atomic, with any number of writers and wherever they are killed.

The ledger has a file for each release, and one each for failures, claims and downloads. GitHub serves a commit as one
archive, and a folder of releases keeps one; it is read within limits and never unpacked to disk.

https://docs.github.com/en/repositories/working-with-files/using-files/downloading-source-code-archives
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Final, Protocol

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode

from wheelmill.errors import IntegrityError, NetworkError, ReleaseError, UnreadableError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.plan.targets import KnownFailures
from wheelmill.release.ledger.records import DownloadCount, Downloads, Failures, LedgerRelease, LedgerState, Work
from wheelmill.system.progress import Clock
from wheelmill.system.records import record_bytes, record_from

_RELEASES: Final = "releases/"
_FAILURES: Final = "failures.json"
_WORK: Final = "work.json"
_DOWNLOADS: Final = "downloads.json"
_ABOUT: Final = {
    "README.md": b"""\
The ledger of a factory of wheels: what is published, which builds failed, and what goes on.
`wheelmill release ledger` shows it, and makes it again from the releases with `--rebuild`. Nobody has to edit it.
"""
}


def state_of(files: Mapping[str, bytes]) -> LedgerState:
    """Read the files of a ledger; ignore files that a later version of wheelmill added."""
    releases = (
        record_from(content, LedgerRelease, source=path)
        for path, content in sorted(files.items())
        if path.startswith(_RELEASES)
    )
    failures, work, downloads = (files.get(path) for path in (_FAILURES, _WORK, _DOWNLOADS))
    return LedgerState(
        releases={release.tag: release for release in releases},
        failures=record_from(failures, Failures, source=_FAILURES).by_inputs if failures else {},
        work=record_from(work, Work, source=_WORK) if work else Work(),
        downloads=record_from(downloads, Downloads, source=_DOWNLOADS).counts if downloads else (),
    )


class _Named(Struct):
    """Part of a release's file that the index needs."""

    tag: ReleaseTag
    manifest: Annotated[Sha256, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    """A manifest is kept in a file of this name, which must not lead elsewhere."""


@dataclass(frozen=True, kw_only=True)
class LedgerSummary:
    """Ledger without its wheels, which are most of it."""

    manifests: Mapping[ReleaseTag, Sha256] = field(default_factory=dict)
    """Hash of every release's manifest."""
    failures: KnownFailures = field(default_factory=dict)
    downloads: tuple[DownloadCount, ...] = ()
    """The oldest count first."""


def summary_of(files: Mapping[str, bytes]) -> LedgerSummary:
    """Read the files of a ledger without the wheels in them."""
    others = state_of({path: content for path, content in files.items() if not path.startswith(_RELEASES)})
    manifests: dict[ReleaseTag, Sha256] = {}
    for path, content in sorted(files.items()):
        if path.startswith(_RELEASES):
            try:
                named = decode(content, type=_Named)
            except DecodeError as error:
                raise IntegrityError("record-invalid", f"{path} is not a {LedgerRelease.__name__}: {error}") from None
            manifests[named.tag] = named.manifest
    return LedgerSummary(manifests=manifests, failures=others.failures, downloads=others.downloads)


def files_of(state: LedgerState, files: Mapping[str, bytes], before: LedgerState) -> dict[str, bytes]:
    """Write the files of a ledger; a release that is the same object in `before` keeps its content in `files`."""
    releases = {
        path: files[path] if before.releases.get(tag) is release else record_bytes(release, indent=None)
        for tag, release in state.releases.items()
        for path in [f"{_RELEASES}{tag}.json"]
    }
    others = {_FAILURES: record_bytes(Failures(by_inputs=state.failures)), _WORK: record_bytes(state.work)}
    if state.downloads:
        others[_DOWNLOADS] = record_bytes(Downloads(counts=state.downloads), indent=None)
    return {**_ABOUT, **releases, **others}


MAX_BYTES: Final = 256 << 20
"""Bytes of all files. A hundred thousand wheels in 420 releases take 30 MB."""
MAX_FILES: Final = 20_000
"""The number of files and folders; there is a file for each release."""

_FOLDER: Final = "ledger"
_GZIP: Final = 16 + zlib.MAX_WBITS
"""https://docs.python.org/3/library/zlib.html#zlib.decompress"""


def read_archive(archive: bytes) -> dict[str, bytes]:
    """Read the files of a packed archive, by their paths in its one folder."""
    try:
        unpacker = zlib.decompressobj(_GZIP)
        unpacked = unpacker.decompress(archive, MAX_BYTES + 1)
        if len(unpacked) > MAX_BYTES:
            raise UnreadableError("archive-too-large", f"has more than {MAX_BYTES} bytes")
        if not unpacker.eof:
            raise UnreadableError("archive-damaged", "is not a packed archive: its end is missing")
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
            return _files_in(tar)
    except (tarfile.TarError, zlib.error, OSError, RecursionError) as error:
        raise UnreadableError("archive-damaged", f"is not a packed archive: {error}") from None


def _files_in(tar: tarfile.TarFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for number, member in enumerate(tar):
        if number >= MAX_FILES:
            raise UnreadableError("archive-too-large", f"has more than {MAX_FILES} files")
        _, *inside = PurePosixPath(member.name).parts or ("",)
        if member.isdir():
            continue
        content = tar.extractfile(member) if member.isreg() else None
        if content is None or len(inside) not in {1, 2} or ".." in inside:
            raise UnreadableError("archive-foreign-file", f"has {member.name!r:.200}, which is not a file of a ledger")
        files["/".join(inside)] = content.read()
    return files


def write_archive(files: Mapping[str, bytes]) -> bytes:
    """Pack files; the same files give the same bytes."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{_FOLDER}/{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(written.getvalue(), compresslevel=1, mtime=0)


PAUSES: Final = (0.0, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before each try of a change: of several concurrent ones, one succeeds each time."""

Edit = Callable[[LedgerState], LedgerState]
"""Function to the next state of a ledger. It is called again if another writer was faster or the write may have been
lost, so it must be idempotent."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """State of the ledger that was read or written."""

    revision: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By path; none if they could not be read."""
    state: LedgerState = field(default_factory=LedgerState)


class LedgerPlace(Protocol):
    """Storage of a ledger; methods raise NetworkError if it does not answer, and ReleaseError if it cannot be used."""

    @property
    def name(self) -> str:
        """Path or URL for messages."""

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """Read the newest revision, None if there is no ledger yet, and its files in one packed archive.

        The archive is None if there are no files, or if the revision is `seen`, which the caller has.
        """

    def write(self, opened: Opened, files: Mapping[str, bytes], why: str) -> str | None:
        """Write the files of the revision after an `opened` one, and return it; None if another writer was faster.

        The history says `why`. After a NetworkError it may have been written.
        """


class Ledger:
    """Ledger of a store; methods raise NetworkError if it cannot be read now, and ReleaseError if it is none."""

    def __init__(self, place: LedgerPlace, clock: Clock) -> None:
        self.place = place
        self._clock = clock
        self._opened = Opened()
        self._summarised: tuple[str | None, LedgerSummary] = None, LedgerSummary()

    def read(self) -> LedgerState:
        """Read the whole ledger."""
        return self._open().state

    def summary(self) -> LedgerSummary:
        """Read all but the wheels, in a fifth of the time and memory."""
        revision, archive = self.place.read(self._summarised[0])
        if archive is None:
            return self._summarised[1] if revision else LedgerSummary()
        try:
            self._summarised = revision, summary_of(read_archive(archive))
        except (UnreadableError, IntegrityError) as error:
            raise self._no_ledger(error) from None
        return self._summarised[1]

    def revision_of(self, state: LedgerState) -> str | None:
        """Return the revision of a state; None unless that state was read or written last."""
        return self._opened.revision if state is self._opened.state else None

    def change(self, why: str, edit: Edit, *, repair: bool = False) -> LedgerState:
        """Change the newest state, and return the next one; nothing is written if they are equal.

        The history says `why`. With `repair`, a ledger that cannot be read counts as empty. Raises ReleaseError also if
        the place cannot be written to, or if other writers were faster each time.
        """
        failure: NetworkError | None = None
        for pause in PAUSES:
            if pause:
                self._clock.sleep(pause)
            opened = self._open(repair=repair)
            after = edit(opened.state)
            if after == opened.state and (opened.files or opened.revision is None):
                return after
            after = after.without_old(self._clock.utc())
            files = files_of(after, opened.files, opened.state)
            try:
                revision = self.place.write(opened, files, why)
            except NetworkError as error:  # the next read shows whether it was made
                failure = error
                continue
            if revision is not None:
                self._opened = Opened(revision=revision, files=files, state=after)
                return after
        message = f"{self.place.name}: others changed it during each of {len(PAUSES)} attempts"
        raise failure or ReleaseError("ledger-contended", message, hint="run this again")

    def _open(self, *, repair: bool = False) -> Opened:
        """Read the newest state, without fetching again the files that were read or written last."""
        revision, archive = self.place.read(self._opened.revision)
        if archive is None:
            return self._opened if revision else Opened()
        try:
            files = read_archive(archive)
            self._opened = Opened(revision=revision, files=files, state=state_of(files))
        except (UnreadableError, IntegrityError) as error:
            if repair:
                return Opened(revision=revision)
            raise self._no_ledger(error) from None
        return self._opened

    def _no_ledger(self, error: Exception) -> ReleaseError:
        hint = "make it again from the releases: wheelmill release ledger --rebuild --store STORE"
        return ReleaseError("not-a-ledger", f"{self.place.name} is not a ledger: {error}", hint=hint)
