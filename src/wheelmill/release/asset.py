"""Files to be sent to a host of releases."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from wheelmill.names import Sha256
from wheelmill.system.files import sha256_of_bytes


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file with the size and hash that it must arrive with."""

    name: str
    content: Path | bytes = field(repr=False)
    size: int
    """Bytes."""
    sha256: Sha256

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Self:
        """A file from bytes in memory."""
        return cls(name=name, content=content, size=len(content), sha256=sha256_of_bytes(content))

    def open(self) -> BinaryIO:
        """Open its bytes for reading."""
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)
