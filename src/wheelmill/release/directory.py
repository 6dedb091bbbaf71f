"""Releases as folders, with their ledger beside them.

``DIRECTORY/v2026-11-21/`` has wheels, the files beside each of them, and ``manifest.json``.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from wheelmill.errors import ReleaseError, UsageError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.ledger import MAX_BYTES, Ledger, Opened, write_archive
from wheelmill.release.ledger.records import date_tags, is_like_date_tag
from wheelmill.release.ledger.releases import ReadFiles, WantedFiles
from wheelmill.release.manifest.record import MANIFEST, entry_of, manifest_of
from wheelmill.release.store import PlainStore, Publication, RefusedWheel, checked_wheel, files_beside, files_of_release
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import (
    PUBLIC_FILE,
    copy_file,
    make_public_folder,
    read_bounded,
    sha256_of_bytes,
    write_bytes,
)
from wheelmill.system.folders import remove_tree
from wheelmill.system.locks import hold, wait_silently
from wheelmill.system.progress import Clock, Progress
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class LedgerFile:
    """Archive on this disk, always replaced as a whole."""

    path: Path

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`; the path."""
        return str(self.path)

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; the revision is the hash of the archive."""
        try:
            archive = read_bounded(self.path, MAX_BYTES)
        except FileNotFoundError:
            return None, None
        except UsageError as error:  # no regular file, or one without end
            raise ReleaseError("ledger-unreadable", str(error)) from None
        except OSError as error:
            raise ReleaseError("ledger-unreadable", f"{self.path} cannot be read: {error.strerror}") from None
        revision = sha256_of_bytes(archive)
        return revision, None if revision == seen else archive

    def write(self, opened: Opened, files: Mapping[str, bytes], why: str) -> str | None:  # noqa: ARG002 - has no history
        """See `LedgerPlace.write`."""
        archive = write_archive(files)
        try:
            with hold(self.path.with_name(f".{self.path.name}.lock"), wait=wait_silently):
                newest, _ = self.read(None)
                if newest != opened.revision:
                    return None
                write_bytes(self.path, archive)
        except OSError as error:
            raise ReleaseError("ledger-not-writable", f"{self.path} cannot be written: {error.strerror}") from None
        return sha256_of_bytes(archive)


@dataclass(frozen=True, kw_only=True)
class DirectoryStore(PlainStore):
    """Releases in a folder."""

    directory: Path
    clock: Clock
    lists_at_once = True  # the files are on this disk

    @functools.cached_property
    def ledger(self) -> Ledger:
        """File beside the releases."""
        return Ledger(LedgerFile(path=self.directory / "ledger.tar.gz"), self.clock)

    def tags(self) -> frozenset[ReleaseTag]:
        """See `Releases.tags`; each release is a folder."""
        if not self.directory.is_dir():
            return frozenset()
        with os.scandir(self.directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
        return frozenset(
            ReleaseTag(name)
            for name in names
            if is_like_date_tag(name) or (name[0] != "." and (self.directory / name / MANIFEST).is_file())
        )

    def is_published(self, tag: ReleaseTag) -> bool:
        """See `Releases.is_published`; renaming makes a whole folder appear at once."""
        return (self.directory / tag).is_dir()

    def read_each(self, wanted: WantedFiles, filename: str) -> ReadFiles:
        """See `Releases.read_each`."""
        for tag in wanted:
            path = self.directory / tag / filename
            try:
                yield tag, read_bounded(path, MAX_BYTES)
            except UsageError as error:  # no regular file, or one without end
                yield tag, ReleaseError("release-unreadable", str(error))
            except OSError as error:
                yield tag, ReleaseError("release-unreadable", f"{path} cannot be read: {error.strerror}")

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Releases.assets`; no pipe or folder, which no installer could read."""
        try:
            return {tag: _files_in(self.directory / tag) for tag in self.tags()}
        except OSError as error:
            raise ReleaseError("release-unreadable", f"{error.filename} cannot be read: {error.strerror}") from None

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        try:
            shutil.copyfile(self.directory / tag / filename, copy)
        except OSError as error:
            raise ReleaseError(
                "release-unreadable", f"{tag}/{filename} cannot be read: {error.strerror or error}"
            ) from None
        return checked_wheel(copy, tag, sha256)

    @contextmanager
    def publisher(self, *, now: datetime, progress: Progress, until: float | None) -> Iterator[FolderPublisher]:  # noqa: ARG002 - nothing takes long
        """See `Store.publisher`."""
        lock = self.directory / ".lock"
        with ExitStack() as stack:
            try:
                make_public_folder(self.directory)
                held = hold(lock, wait=lambda holder: progress.step(f"waiting for another release: {holder}"))
                stack.enter_context(held)
            except OSError as error:
                raise ReleaseError("release-not-writable", f"{lock} cannot be written: {error.strerror}") from None
            publisher = FolderPublisher(directory=self.directory, now=now)
            stack.callback(remove_tree, publisher.draft)
            yield publisher

    def url_from(self, site: Path) -> str:
        """See `Store.url_from`; a path."""
        return quote(os.path.relpath(self.directory, site))


def _files_in(folder: Path) -> frozenset[str]:
    with os.scandir(folder) as entries:
        return frozenset([entry.name for entry in entries if entry.is_file()])


class FolderPublisher:
    """Publisher that makes a release in a hidden folder and renames it, so that it appears whole."""

    over = False

    def __init__(self, *, directory: Path, now: datetime) -> None:
        self.draft = directory / ".draft"
        remove_tree(self.draft)  # a killed process leaves its draft
        self._directory, self._now = directory, now
        self._wheels: list[TestedWheel] = []

    @property
    def count(self) -> int:
        """See `Publisher.count`."""
        return len(self._wheels)

    def add(self, wheels: Sequence[TestedWheel]) -> tuple[RefusedWheel, ...]:
        """See `Publisher.add`; every wheel is accepted."""
        with self._errors():
            make_public_folder(self.draft)
            for wheel in wheels:
                copy = self.draft / wheel.file.filename
                copy_file(wheel.file.path, copy)
                copy.chmod(PUBLIC_FILE)
                for name, content in files_beside(wheel).items():
                    write_bytes(self.draft / name, content, mode=PUBLIC_FILE)
                self._wheels.append(replace(wheel, file=replace(wheel.file, path=copy)))
        return ()

    def publish(self) -> Publication:
        """See `Publisher.publish`."""
        tag = next(tag for tag in date_tags(self._now) if not (self._directory / tag).exists())
        manifest = manifest_of(tag, list(map(entry_of, self._wheels)), now=self._now)
        with self._errors():
            for name, content in files_of_release(manifest, self._wheels).items():
                write_bytes(self.draft / name, content, mode=PUBLIC_FILE)
            self.draft.rename(self._directory / tag)
        self._wheels.clear()
        return Publication(releases=(manifest,), refusals=())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = self._directory / Path(error.filename or "").name
            raise ReleaseError("release-not-writable", f"{path} cannot be written: {error.strerror}") from None
