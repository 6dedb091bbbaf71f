"""One wheel as it stands on the pages of an index: in HTML and in JSON.

Written by hand, not by a template: an index has hundreds of thousands of these rows, and each is on the pages of
several trees.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from html import escape
from typing import Final

from pydantic_core import to_json

from wheelmill.index.tree import IndexFile

ROOT: Final = "\0"
"""Stands in a row for the way from its page to the root of the site; no HTML or JSON holds this character."""
_URL: Final = b'{"url":"'


def html_row(file: IndexFile) -> bytes:
    """A link with its hash and attributes (PEP 503, 592, 658 and 714; uv reads time and size of PEP 700 here too).

    What differs from row to row stands close together, and what does not in runs of at most the 258 bytes that gzip
    can repeat at once: so a page of 500 wheels has less than 30,000 bytes at gzip's level 9, and 1,200 more at level 6.
    """
    requires = f' data-requires-python="{escape(file.requires_python)}"' if file.requires_python else ""
    core = f'"sha256={file.metadata_sha256}"' if file.metadata_sha256 else ""
    metadata = f" data-core-metadata={core} data-dist-info-metadata={core}" if core else ""
    yanked = f' data-yanked="{escape(file.yanked)}"' if file.yanked else ""
    uploaded = f' data-upload-time="{in_utc(file.uploaded_at)}"' if file.uploaded_at else ""
    return (
        f'<a{uploaded} href="{escape(href(file.url))}#sha256={file.sha256}" data-size="{file.size}"'
        f"{requires}{metadata}{yanked}>{escape(file.filename)}</a><br>"
    ).encode()


def json_row(file: IndexFile) -> bytes:
    """An entry of ``files`` (PEP 691 with 592, 700 and 714)."""
    row: dict[str, object] = {
        "url": file.url,
        "filename": file.filename,
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "core-metadata": {"sha256": file.metadata_sha256} if file.metadata_sha256 else False,
    }
    if file.requires_python:
        row["requires-python"] = file.requires_python
    if file.uploaded_at:
        row["upload-time"] = in_utc(file.uploaded_at)
    if file.yanked:
        row["yanked"] = file.yanked
    written = to_json(row)
    return written if is_absolute(file.url) else _URL + ROOT.encode() + written.removeprefix(_URL)


def rows_for_page(page: str, content: bytes) -> bytes:
    """Rows as they stand on a page, which is given by its path below the root of the site."""
    return content.replace(ROOT.encode(), b"../" * page.count("/"))


def href(url: str) -> str:
    """A file's URL as a row has it."""
    return url if is_absolute(url) else f"{ROOT}{url}"


def is_absolute(url: str) -> bool:
    """Whether it is the same from every page of a site."""
    return url.startswith("/") or "://" in url


@lru_cache(maxsize=4096)
def in_utc(time: datetime) -> str:
    """The form of PEP 700: ``2026-11-21T12:30:15Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
