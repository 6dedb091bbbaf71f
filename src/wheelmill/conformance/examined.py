"""What was asked for about one file, beyond its link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wheelmill.conformance.pages import Document, FileLink


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A file of the sample. None stands for what was not asked for."""

    link: FileLink
    answer: Document
    """To a request for the file's first byte; without content."""
    digests: Mapping[str, str] | None
    """Of the whole file, for every function that its link names."""
    sidecar: Document | None
    """None where the link announces none."""
    metadata: bytes | None
    """METADATA inside the wheel."""
    provenance: Document | None
    signature: Document | None
