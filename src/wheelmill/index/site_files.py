"""Files of a deployed site, in a folder or at a URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wheelmill.index.write import MAX_BYTES
from wheelmill.web.credentials import without_credentials


@dataclass(frozen=True, kw_only=True)
class Absent:
    """A file that a site does not have."""

    problem: str
    status: int | None = None
    """The status that a server answered with."""


ReadFile = Callable[[str], bytes | Absent]
"""Reads a file of a site."""


@contextmanager
def site_files(place: str) -> Iterator[ReadFile]:
    """Make a reader of the files of a site, which is a folder or at a URL."""
    if "://" not in place:
        yield partial(_content_in, Path(place))
        return
    from wheelmill.web.client import ATTENDED, Web  # noqa: PLC0415 - a tenth of a second

    with Web(retries=ATTENDED) as web:

        def content_of(name: str) -> bytes | Absent:
            answer = web.get(url := f"{place.rstrip('/')}/{name}", limit=MAX_BYTES)
            if answer.ok:
                return answer.content
            return Absent(problem=f"{without_credentials(url)} cannot be read: {answer.outcome}", status=answer.status)

        yield content_of


def _content_in(folder: Path, name: str) -> bytes | Absent:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        return Absent(problem=f"{folder / name} cannot be read: {error.strerror}")
