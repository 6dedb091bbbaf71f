"""Published files, taken the way everybody takes them: without a token, from the pages of the server.

Such downloads count towards no limit of the API.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from wheelmill.errors import NetworkError
from wheelmill.names import Sha256
from wheelmill.release.github.repository import Repository
from wheelmill.system.time import Clock
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials
from wheelmill.web.retries import Retries


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """The files of a repository's published releases. Methods raise NetworkError for one that cannot be had."""

    repository: Repository
    clock: Clock
    web: Web

    def read(self, tag: str, filename: str) -> bytes:
        """Read a small file."""
        return self.web.read(self.repository.download(tag, filename))

    def save(self, tag: str, filename: str, file: IO[bytes]) -> Sha256:
        """Copy a file of any size into another one; returns its hash."""
        return self.web.download(self.repository.download(tag, filename), file).sha256

    def size(self, tag: str, filename: str) -> int | None:
        """Ask for one byte of a file, and return how many the server says that there are."""
        answer = self.web.get(url := self.repository.download(tag, filename), span="0-0")
        if not answer.ok:
            raise NetworkError(f"{url}: {answer.outcome}")
        return answer.size


@contextmanager
def downloads_from(repository: Repository, clock: Clock) -> Iterator[Downloads]:
    """Keep connections open while files are read."""
    with Web(credentials=no_credentials, retries=Retries(clock.sleep)) as web:
        yield Downloads(repository=repository, clock=clock, web=web)
