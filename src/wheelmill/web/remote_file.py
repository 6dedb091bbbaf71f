"""A file on a server, read a piece at a time (RFC 9110, section 14)."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import Final

from wheelmill.errors import NetworkError
from wheelmill.web.client import Web

_PIECE: Final = 64 << 10
"""Bytes of a request at least: the list of a zip's members is at its end, and mostly shorter."""


class RemoteFile(io.RawIOBase):
    """Reads what is asked for, and its surroundings, by range requests."""

    def __init__(self, web: Web, url: str) -> None:
        """Ask for the end of the file.

        Raises:
            NetworkError: the server does not answer, or not with ranges.
        """
        super().__init__()
        self._web, self._url = web, url
        self._at = 0
        self._start, self._held, self.size = self._ask(f"-{_PIECE}")

    def readable(self) -> bool:
        """It is read only."""
        return True

    def seekable(self) -> bool:
        """From anywhere."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go somewhere; nothing is asked for yet."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io calls it with
        """Read some bytes.

        Raises:
            NetworkError: the server does not give them.
        """
        wanted = min(len(buffer), self.size - self._at)
        if wanted <= 0:
            return 0
        offset = self._at - self._start
        if not 0 <= offset < len(self._held):
            last = min(self._at + max(wanted, _PIECE), self.size) - 1
            self._start, self._held, _ = self._ask(f"{self._at}-{last}")
            offset = self._at - self._start
        piece = self._held[offset : offset + wanted]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _ask(self, wanted: str) -> tuple[int, bytes, int]:
        """Where the bytes begin that the server gives, these bytes, and the size of the whole file."""
        answer = self._web.get(self._url, span=wanted)
        if answer.status != HTTPStatus.PARTIAL_CONTENT:
            given = "ignores ranges" if answer.ok else f"answers {answer.outcome}"
            raise NetworkError(f"the server {given}")
        unit, _, span = answer.headers.get("Content-Range", "").partition(" ")
        first, size = span.partition("-")[0], span.rpartition("/")[2]
        content = answer.content
        if unit != "bytes" or not (first.isdecimal() and size.isdecimal() and content):
            raise NetworkError("the server's Content-Range cannot be read")
        return int(first), content, int(size)
