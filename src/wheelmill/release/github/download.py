"""Published files, taken the way everybody takes them: without a token, from the pages of the server.

Such downloads count towards no limit of the API.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Final

import httpx

from wheelmill.errors import ReleaseError
from wheelmill.names import Sha256
from wheelmill.release.github.clock import Clock
from wheelmill.release.github.repository import Repository
from wheelmill.web.tries import NoAnswerError, answer_to

_TIMEOUT: Final = 60.0
"""Seconds without a byte from the other side."""


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """The files of a repository's published releases. Methods raise ReleaseError for one that cannot be had."""

    repository: Repository
    clock: Clock
    client: httpx.Client

    def read(self, tag: str, filename: str) -> bytes:
        """Read a small file."""
        with self._open(tag, filename) as answer:
            return answer.read()

    def save(self, tag: str, filename: str, file: IO[bytes]) -> Sha256:
        """Copy a file of any size into another one; returns its hash."""
        digest = hashlib.sha256()
        with self._open(tag, filename) as answer:
            for chunk in answer.iter_bytes():
                digest.update(chunk)
                file.write(chunk)
        return Sha256(digest.hexdigest())

    def size(self, tag: str, filename: str) -> int | None:
        """Ask for one byte of a file, and return how many the server says that there are."""
        with self._open(tag, filename, {"Range": "bytes=0-0"}) as answer:
            whole = answer.headers.get("Content-Length", "")
            partial = answer.headers.get("Content-Range", "").rpartition("/")[2]
            text = partial if answer.status_code == HTTPStatus.PARTIAL_CONTENT else whole
            return int(text) if text.isascii() and text.isdigit() else None

    @contextmanager
    def _open(self, tag: str, filename: str, headers: dict[str, str] | None = None) -> Iterator[httpx.Response]:
        url = self.repository.download(tag, filename)
        request = self.client.build_request("GET", url, headers=headers)
        try:
            answer = answer_to(self.client, request, self.clock.sleep, stream=True)
            try:
                if not answer.is_success:
                    raise ReleaseError(f"{url}: {answer.status_code} {answer.reason_phrase}")
                yield answer
            finally:
                answer.close()
        except (NoAnswerError, httpx.HTTPError) as error:
            raise ReleaseError(f"{url}: {error}") from None


@contextmanager
def downloads_from(repository: Repository, clock: Clock) -> Iterator[Downloads]:
    """Keep connections open while files are read."""
    identity = {"Accept-Encoding": "identity"}  # so that a size is the file's own
    with httpx.Client(follow_redirects=True, timeout=_TIMEOUT, headers=identity) as client:
        yield Downloads(repository=repository, clock=clock, client=client)
