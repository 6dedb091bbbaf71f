"""The Content-Type of an object, by its key: a bucket serves pages and wheels with the types that it is told."""

from __future__ import annotations

from mimetypes import MimeTypes
from pathlib import PurePosixPath
from typing import Final

from wheelmill.web.pages import JSON_TYPE

_TYPES: Final = MimeTypes()
_OWN_TYPES: Final = {
    ".jsonl": "application/jsonl",
    ".metadata": "text/plain",
    ".provenance": "application/json",
    ".gz": "application/gzip",
}
JSON_PAGES: Final = "v1+json"
"""The folder below ``simple/`` with the JSON pages under addresses of their own (PEP 691)."""


def type_of(key: str) -> str:
    """The type that an object is served with."""
    path = PurePosixPath(key)
    if "simple" in path.parts and (path.name == "index.json" or JSON_PAGES in path.parts):
        return JSON_TYPE
    page = "index.html" if key.endswith("/") else path.name
    kind = _OWN_TYPES.get(PurePosixPath(page).suffix) or _TYPES.guess_type(page)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
