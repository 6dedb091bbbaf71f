"""Releases as folders: ``DIRECTORY/v2026-11-21/{wheel, wheel.metadata, manifest.json}``."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import IntegrityError, ReleaseError
from wheelmill.files import read_record, sha256_of, write_bytes, write_record
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.plan.records import KnownFailure, KnownFailures
from wheelmill.release.records import MANIFEST, SIDECAR_SUFFIX, Manifest
from wheelmill.smoke.records import TestedWheel
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.records import WheelFile

_FAILURES: Final = "failures.json"


@dataclass(frozen=True, kw_only=True)
class DirectoryStore:
    """A folder of releases."""

    directory: Path

    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests of all releases, by tag.

        Raises:
            ReleaseError: one of them cannot be read.
        """
        try:
            return tuple(read_record(path, Manifest) for path in sorted(self.directory.glob(f"v*/{MANIFEST}")))
        except IntegrityError as error:
            raise ReleaseError(str(error)) from None

    def failures(self) -> KnownFailures:
        """The builds that failed before."""
        path = self.directory / _FAILURES
        return read_record(path, KnownFailures) if path.exists() else KnownFailures(by_inputs={})

    def remember_failure(self, inputs: Sha256, failure: KnownFailure) -> None:
        """Keep one more failed build."""
        known = self.failures().by_inputs
        write_record(self.directory / _FAILURES, KnownFailures(by_inputs={**known, inputs: failure}))

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """Copy a released wheel into a folder.

        Raises:
            ReleaseError: it is not there, or has other bytes than its manifest says.
        """
        copy = folder / filename
        try:
            shutil.copyfile(self.directory / tag / filename, copy)
        except OSError as error:
            raise ReleaseError(f"{tag}/{filename} cannot be read: {error.strerror}") from None
        if (found := sha256_of(copy)) != sha256:
            raise ReleaseError(f"{tag}/{filename} has sha256 {found}; its manifest says {sha256}")
        return WheelFile.at(copy)

    def publish(self, manifest: Manifest, wheels: Sequence[TestedWheel]) -> None:
        """Put a release in place whole: it is made beside the others and then gets its name.

        Raises:
            ReleaseError: the tag is taken.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=self.directory))
        try:
            for wheel in wheels:
                shutil.copyfile(wheel.file.path, draft / wheel.file.filename)
                write_bytes(draft / (wheel.file.filename + SIDECAR_SUFFIX), metadata_bytes(wheel.file.path))
            write_record(draft / MANIFEST, manifest)
            draft.chmod(0o755)
            try:
                os.rename(draft, self.directory / manifest.tag)  # noqa: PTH104 - fails where files already are
            except OSError:
                raise ReleaseError(
                    f"{self.directory / manifest.tag} exists; a published tag is never used again"
                ) from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
