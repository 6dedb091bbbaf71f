"""Builds that failed, kept in a file. Losing it is harmless: they are tried once more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wheelmill.errors import IntegrityError
from wheelmill.names import Sha256
from wheelmill.plan.targets import KnownFailure, KnownFailures
from wheelmill.system.record_files import read_record, write_record


@dataclass(frozen=True, kw_only=True)
class FailureFile:
    """A file of known failures, which need not exist."""

    path: Path

    def read(self) -> KnownFailures:
        """The builds that failed before."""
        try:
            return read_record(self.path, KnownFailures)
        except (FileNotFoundError, IntegrityError):  # not there, broken, or of an earlier version of ours
            return KnownFailures(by_inputs={})

    def remember(self, inputs: Sha256, failure: KnownFailure) -> None:
        """Keep one more failed build."""
        write_record(self.path, KnownFailures(by_inputs={**self.read().by_inputs, inputs: failure}))
