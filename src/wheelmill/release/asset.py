"""Files that a host of releases is to have."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from wheelmill.names import Sha256
from wheelmill.system.files import sha256_of_bytes


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file, whose bytes are known before they are sent."""

    name: str
    content: Path | bytes = field(repr=False)
    size: int
    """Bytes."""
    sha256: Sha256

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Self:
        """A file that is on no disk."""
        return cls(name=name, content=content, size=len(content), sha256=sha256_of_bytes(content))

    def open(self) -> BinaryIO:
        """Its bytes."""
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)
