"""Pages of the simple API as records: what their HTML (PEP 503) and their JSON (PEP 691) say, in the same words.

https://packaging.python.org/en/latest/specifications/simple-repository-api/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

HTML_TYPES: Final = ("text/html", "application/vnd.pypi.simple.v1+html")
JSON_TYPE: Final = "application/vnd.pypi.simple.v1+json"


class Form(StrEnum):
    """How a page is written."""

    HTML = "HTML"
    JSON = "JSON"


class Link(NamedTuple):
    """One link of a page, values in the spelling of HTML's attributes; what the page does not say is None.

    A page may have tens of thousands of them, hence a tuple.
    """

    filename: str
    """HTML: the last part of the URL's path, decoded. JSON: ``filename``."""
    url: str
    """Absolute, or relative to the page's base."""
    sha256: str | None = None
    size: int | None = None
    """Bytes (PEP 700; ``data-size`` as uv reads it)."""
    requires_python: str | None = None
    core_metadata: str | None = None
    """``true`` or ``sha256=...``: METADATA lies at the URL with ``.metadata`` at its end (PEP 658, 714)."""
    legacy_metadata: str | None = None
    """What its older name, ``data-dist-info-metadata``, says otherwise."""
    upload_time: str | None = None
    yanked: str | None = None
    """The reason, which may be empty (PEP 592); None when the file is not yanked."""
    other_hashes: Mapping[str, str] | None = None
    """Hashes beside sha256, by the name of their function."""
    provenance: str | None = None
    signature: str | None = None
    """``data-gpg-sig``: ``true`` or ``false``."""
    text: str | None = None
    """Of the anchor, or the name in JSON's project list."""

    @property
    def hashes(self) -> dict[str, str]:
        """Every hash, by the name of its function."""
        return ({} if self.sha256 is None else {"sha256": self.sha256}) | dict(self.other_hashes or {})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A value that has another type than the simple API gives it."""

    key: str
    """Of JSON, or ``base`` and ``size`` in HTML; empty for an entry as a whole."""
    problem: str
    """Where it stands and what is wrong: ``files.3.size: expected int, not str``."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A project list or a project's page."""

    form: Form
    base: str
    """The URL that links are relative to."""
    links: Sequence[Link]
    """In the page's order. A JSON entry with a fault has none."""
    faults: Sequence[Fault] = ()
    version: str | None = None
    """Of the API (PEP 629)."""
    status: str | None = None
    """Of the project (PEP 792)."""
    name: str | None = None
    """The project, in JSON."""
    versions: tuple[str, ...] | None = None
    """Of the project, in JSON (PEP 700)."""
    has_doctype: bool = True
    """Whether HTML begins with ``<!DOCTYPE html>``."""


def absolute(base: str, url: str) -> str | None:
    """Resolve a link against its page's base; the fragment is left out. None when the result is no URL."""
    try:
        return urldefrag(urljoin(base, url)).url
    except ValueError:
        return None


def last_part(url: str) -> str:
    """The last part of the path of a URL without a fragment, decoded."""
    name = url.partition("?")[0].rpartition("/")[2]
    if "%" in name:
        name = name.replace("%2B", "+")  # nearly always the only one, and unquote() takes long
        name = unquote(name) if "%" in name else name
    return name
