"""A file on a server, read in spans: the METADATA of a wheel of gigabytes costs some kilobytes."""

from __future__ import annotations

import io
import os
from typing import Final

from wheelmill.conformance.fetch import Fetcher

_MAX_BYTES: Final = 16 << 20
"""In all. The central directory of the largest CUDA wheels has 3 MB."""


class RangedFile(io.RawIOBase):
    """What zipfile reads from. Raises OSError where the server does not give the span.

    Args:
        fetcher: asks for the spans.
        url: of the file, after redirects.
        size: of the file, in bytes.
    """

    def __init__(self, fetcher: Fetcher, url: str, size: int) -> None:
        super().__init__()
        self._fetcher = fetcher
        self._url = url
        self._size = size
        self._at = 0
        self._read = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next span begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move, without asking the server."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, count: int | None = -1) -> bytes:
        """Ask for the next bytes."""
        left = max(0, self._size - self._at)
        count = left if count is None or count < 0 else min(count, left)
        if not count:
            return b""
        self._read += count
        if self._read > _MAX_BYTES:
            raise OSError("the directory of the zip file is too large")
        answer = self._fetcher.get(self._url, limit=count, span=(self._at, self._at + count - 1))
        if answer.status != 206 or len(answer.content) != count:  # noqa: PLR2004 - Partial Content
            raise OSError(f"no span of bytes: {answer.failure}")
        self._at += count
        return answer.content
