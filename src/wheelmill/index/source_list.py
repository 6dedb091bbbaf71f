"""The list of sources on the site, so that clients learn of new ones without a new release of wheelmill."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from wheelmill.index.render import Page
from wheelmill.index.tree import SOURCES, SOURCES_HASH


def source_list_pages(content: bytes) -> Iterator[Page]:
    """The list, and its hash beside it."""
    yield SOURCES, [content]
    yield SOURCES_HASH, [f"{hashlib.sha256(content).hexdigest()}  {SOURCES}\n".encode()]
