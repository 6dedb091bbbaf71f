"""One wheel as it stands on the pages of an index: in HTML and in JSON.

Written by hand, not by a template: an index has hundreds of thousands of these rows, and each is on the pages of
several trees.
"""

from __future__ import annotations

import html
from datetime import datetime
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.json import Encoder

from wheelmill.index.tree import IndexFile
from wheelmill.names import Sha256

ROOT: Final = "\0"
"""A placeholder in rows for the relative path to the root of the site; no HTML or JSON holds this character."""
_URL: Final = b'{"url":"'


def html_row(file: IndexFile) -> str:
    """A link with its hash and attributes (PEP 503, 592, 658, 714 and 740; uv reads time and size of PEP 700 here too).

    What differs from row to row stands close together, and what does not in runs of at most the 258 bytes that gzip
    can repeat at once: so a page of 500 wheels has less than 30,000 bytes at gzip's level 9, and 1,200 more at level 6.
    """
    uploaded = f' data-upload-time="{in_utc(file.uploaded_at)}"' if file.uploaded_at else ""
    provenance = f' data-provenance="{escape(file.provenance)}"' if file.provenance else ""
    attributes = _attributes(file.metadata_sha256, file.requires_python, file.yanked)
    return (
        f'<a{provenance}{uploaded} href="{escape(href(file.url))}#sha256={file.sha256}" data-size="{file.size}"'
        f"{attributes}>{escape(file.filename)}</a><br>"
    )


@lru_cache(maxsize=4096)
def _attributes(metadata_sha256: Sha256 | None, requires_python: str | None, reason: str | None) -> str:
    """What wheels of one version have in common."""
    requires = f' data-requires-python="{escape(requires_python)}"' if requires_python else ""
    core = f'"sha256={metadata_sha256}"' if metadata_sha256 else ""
    # Not under its older name: pip 22.3 to 23.1 would read it, and refuse a METADATA that says flash_attn (PEP 714).
    metadata = f" data-core-metadata={core}" if core else ""
    yanked = f' data-yanked="{escape(reason)}"' if reason else ""
    return f"{requires}{metadata}{yanked}"


def escape(text: str) -> str:
    """Like `html.escape`, but faster where there is nothing to escape, as in nearly all names and URLs."""
    if "&" in text or "<" in text or ">" in text or '"' in text or "'" in text:
        return html.escape(text)
    return text


class _JsonRow(Struct, kw_only=True, omit_defaults=True, rename="kebab"):
    """An entry of ``files`` (PEP 691 with 592, 700, 714 and 740)."""

    url: str
    filename: str
    hashes: dict[str, str]
    size: int
    core_metadata: dict[str, str] | bool
    requires_python: str | None = None
    upload_time: str | None = None
    yanked: str | None = None
    provenance: str | None = None


def json_row(file: IndexFile) -> bytes:
    """An entry of ``files``, without unknown values."""
    url = file.url
    row = _JsonRow(
        url=url,
        filename=file.filename,
        hashes={"sha256": file.sha256},
        size=file.size,
        core_metadata={"sha256": file.metadata_sha256} if file.metadata_sha256 else False,
        requires_python=file.requires_python or None,
        upload_time=in_utc(file.uploaded_at) if file.uploaded_at else None,
        yanked=file.yanked or None,
        provenance=file.provenance,
    )
    written = _encode(row)
    return written if is_absolute(url) else _URL + ROOT.encode() + written.removeprefix(_URL)


_encode: Final = Encoder().encode


def rows_for_page(page: str, content: bytes) -> bytes:
    """Rows with the placeholder filled in for a page, given by its path below the root of the site."""
    return content.replace(ROOT.encode(), b"../" * page.count("/"))


def href(url: str) -> str:
    """A file's URL as a row has it."""
    return url if is_absolute(url) else f"{ROOT}{url}"


def is_absolute(url: str) -> bool:
    """Whether a URL means the same on every page of a site."""
    return url.startswith("/") or "://" in url


@lru_cache(maxsize=4096)
def in_utc(time: datetime) -> str:
    """The form of PEP 700: ``2026-11-21T12:30:15Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
