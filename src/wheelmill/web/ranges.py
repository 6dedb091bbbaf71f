"""Remote files, read by ranges of bytes: the METADATA of a wheel of gigabytes costs some kilobytes.

https://www.rfc-editor.org/rfc/rfc9110#name-range-requests
"""

from __future__ import annotations

import io
import re
import time
from http import HTTPStatus
from typing import Final

from wheelmill.errors import NetworkError
from wheelmill.web.client import Answer, Web

BUDGET: Final = 16 << 20
"""Bytes of a file that are asked for in all. The central directory of the largest CUDA wheels has 3 MB."""
SECONDS: Final = 1_800
"""For all requests of a file together: each has its own limit, which a slow server may reach every time."""
_PIECE: Final = 64 << 10
"""Minimum bytes of a request: the list of a zip's members is at its end, and mostly shorter."""
WHOLE: Final = 4 << 20
"""Bytes up to which a file is read whole from a server that ignores ranges, as `python -m http.server` does."""
_CONTENT_RANGE: Final = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


class RangeFile(io.RawIOBase):
    """Remote file for zipfile; every read gives the requested bytes, up to the end of the file.

    If `size`, in bytes, is None, the first request gets it along with the file's end. Every other request asks for at
    least `piece` bytes, and all together for at most `budget`, within `SECONDS`. Raises NetworkError if the server does
    not answer with exactly the requested range of the same file, or with all of a small one; or if the bytes or the
    time run out. Reading raises it too.
    """

    def __init__(
        self, web: Web, url: str, *, size: int | None = None, piece: int = _PIECE, budget: int = BUDGET
    ) -> None:
        super().__init__()
        self._web, self._url, self._piece, self._budget = web, url, piece, budget
        self._until = time.monotonic() + SECONDS
        self._validator: str | None = None
        self._at, self._start, self._held = 0, 0, b""
        if size is None:
            first, last, size = self._fetch(f"-{_PIECE}", _PIECE)
            if last + 1 != size or first not in (0, max(0, size - _PIECE)):
                raise NetworkError(
                    "range-differs", "the server answers with other bytes than the last ones of the file"
                )
            self._start = first
        self.size = size

    @property
    def whole(self) -> bytes | None:
        """All bytes, if the last answer had them, as that of a server without ranges has; else None."""
        return self._held if len(self._held) == self.size else None

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: a read may begin anywhere."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move without a request to the server."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # io passes a memoryview
        """Fill a buffer with the next bytes, and return their number."""
        wanted = max(0, min(len(buffer), self.size - self._at))
        done = 0
        while done < wanted:
            if not self._start <= self._at < self._start + len(self._held):
                self._hold(wanted - done)
            offset = self._at - self._start
            part = self._held[offset : offset + wanted - done]
            buffer[done : done + len(part)] = part
            done += len(part)
            self._at += len(part)
        return done

    def _hold(self, wanted: int) -> None:
        """Fetch the next bytes and their surroundings, in place of those held so far."""
        count = min(max(wanted, self._piece), self.size)
        start = min(self._at, self.size - count)
        span, whole = (start, start + count - 1, self.size), (0, self.size - 1, self.size)
        if (fetched := self._fetch(f"{span[0]}-{span[1]}", count)) not in (span, whole):
            raise NetworkError("range-differs", "the server gives another range than the one that was asked for")
        self._start = fetched[0]

    def _fetch(self, span: str, most: int) -> tuple[int, int, int]:
        """Fetch a range; return the positions of its first and last byte, and the file's size."""
        self._budget -= most
        if self._budget < 0:
            raise NetworkError("members-too-large", "the list of the file's members is too large")
        if time.monotonic() > self._until:
            raise NetworkError("range-too-slow", f"what is read of the file takes longer than {SECONDS} s")
        answer = self._web.get(self._url, span=span, if_range=self._validator, limit=most)
        if answer.status == HTTPStatus.OK:
            if not self._validator and answer.size is not None and answer.size <= min(WHOLE, self._budget):
                self._budget -= answer.size
                self._held = self._web.read(self._url, limit=WHOLE)
                return 0, len(self._held) - 1, len(self._held)
            raise NetworkError(
                "ranges-unusable",
                "the file changed while it was read" if self._validator else "the server ignores ranges",
            )
        if answer.status != HTTPStatus.PARTIAL_CONTENT:
            raise NetworkError("status", f"the server answers {answer.outcome}", status=answer.status)
        given = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
        if not given or len(answer.content) != int(given[2]) - int(given[1]) + 1:
            raise NetworkError("range-unreadable", "the server's Content-Range cannot be read, or is not of its bytes")
        self._held = answer.content
        self._validator = self._validator or _validator(answer)
        return int(given[1]), int(given[2]), int(given[3])


def _validator(answer: Answer) -> str | None:
    """Return a file's validator for If-Range (RFC 9110, 13.1.5), which a weak ETag is not."""
    etag = answer.headers.get("ETag", "")
    return etag if etag.startswith('"') else answer.headers.get("Last-Modified")
