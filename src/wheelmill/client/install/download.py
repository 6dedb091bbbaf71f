"""Reading a file from wherever a source says that it is: another server, or this disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx

from wheelmill.client.install.wheel_cache import Opened
from wheelmill.web.credentials import without_credentials
from wheelmill.web.requests import Web, WebError

_PIECE: Final = 1 << 20
"""Bytes."""


def opener(web: Web) -> Opened:
    """What opens URLs through a connection."""

    def open_url(url: str) -> AbstractContextManager[Iterator[bytes]]:
        return _pieces_of_file(url) if urlsplit(url).scheme == "file" else _pieces_of_answer(web, url)

    return open_url


@contextmanager
def _pieces_of_answer(web: Web, url: str) -> Iterator[Iterator[bytes]]:
    with web.open(url) as answer:
        if answer.status_code != HTTPStatus.OK:
            raise WebError(f"{without_credentials(url)}: {answer.status_code} {answer.reason_phrase}")
        try:
            yield answer.iter_bytes(_PIECE)
        except httpx.HTTPError as error:
            raise WebError(f"{without_credentials(url)}: {error}") from None


@contextmanager
def _pieces_of_file(url: str) -> Iterator[Iterator[bytes]]:
    path = Path(url2pathname(urlsplit(url).path))
    try:
        with path.open("rb") as file:
            yield iter(lambda: file.read(_PIECE), b"")
    except OSError as error:
        raise WebError(f"{path}: {error.strerror}") from None
