"""Releases as folders: ``DIRECTORY/v2026-11-21/{wheel, wheel.metadata, wheel.cdx.json, manifest.json}``."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from wheelmill.errors import ReleaseError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.folder import LedgerFile
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.manifest import MANIFEST, Manifest, manifest_of, manifests_from
from wheelmill.release.store import FailureFile, Publication, Quotas, date_tags, files_beside, files_of_release
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import copy_file, sha256_of, write_bytes
from wheelmill.system.folders import remove_tree
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class DirectoryStore:
    """A folder of releases."""

    directory: Path

    @property
    def failures(self) -> FailureFile:
        """A file beside the releases."""
        return FailureFile(path=self.directory / "failures.json")

    @functools.cached_property
    def ledger(self) -> Ledger:
        """A file beside the releases."""
        return Ledger(LedgerFile(path=self.directory / "ledger.tar.gz"))

    @property
    def lock(self) -> Path:
        """A file beside the releases."""
        return self.directory / ".lock"

    @property
    def quotas(self) -> Quotas:
        """None: a disk takes what fits on it."""
        return Quotas()

    def manifests(self, warn: Callable[[str], None] | None = None) -> tuple[Manifest, ...]:
        """See `Store.manifests`; by tag."""
        paths = sorted(self.directory.glob(f"v*/{MANIFEST}"))
        return manifests_from(((path.parent.name, str(path), path.read_bytes()) for path in paths), warn)

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Store.assets`."""
        releases = (path.parent for path in self.directory.glob(f"v*/{MANIFEST}"))
        return {ReleaseTag(folder.name): frozenset(os.listdir(folder)) for folder in releases}  # noqa: PTH208 - quick

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        try:
            shutil.copyfile(self.directory / tag / filename, copy)
        except OSError as error:
            raise ReleaseError(f"{tag}/{filename} cannot be read: {error.strerror}") from None
        if (found := sha256_of(copy)) != sha256:
            raise ReleaseError(f"{tag}/{filename} has sha256 {found}; its manifest says {sha256}")
        return WheelFile.at(copy)

    def read(self, tag: ReleaseTag, filename: str) -> bytes:
        """See `Store.read`."""
        try:
            return (self.directory / tag / filename).read_bytes()
        except OSError as error:
            raise ReleaseError(f"{tag}/{filename} cannot be read: {error.strerror}") from None

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:  # noqa: ARG002 - it takes every wheel
        """See `Store.reason_to_refuse`."""
        return None

    def check_can_publish(self) -> None:
        """See `Store.check_can_publish`; nothing is needed."""

    def publish(self, wheels: Sequence[TestedWheel], *, now: datetime, progress: Progress) -> Publication:  # noqa: ARG002 - nothing takes long
        """See `Store.publish`. A release is made beside the others and then gets its name, so it appears whole."""
        used = {manifest.tag for manifest in self.manifests()}
        manifest = manifest_of(next(tag for tag in date_tags(now) if tag not in used), wheels, now=now)
        release, draft = self.directory / manifest.tag, self.directory / ".draft"
        try:
            remove_tree(draft)  # of a process that was killed
            draft.mkdir(parents=True)
            for wheel in wheels:
                copy_file(wheel.file.path, draft / wheel.file.filename)
                for name, content in files_beside(wheel).items():
                    write_bytes(draft / name, content)
            for name, content in files_of_release(manifest, wheels).items():
                write_bytes(draft / name, content)
            if release.exists():
                raise ReleaseError(f"{release} exists; a published tag is never used again")
            draft.rename(release)
        except OSError as error:
            path = release / Path(error.filename or "").name
            raise ReleaseError(f"{path} cannot be written: {error.strerror}") from None
        finally:
            remove_tree(draft)
        return Publication(releases=(manifest,), refusals=())

    def url_from(self, site: Path) -> str:
        """See `Store.url_from`; a path."""
        return quote(os.path.relpath(self.directory, site))
