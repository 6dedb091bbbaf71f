"""Pages of an index as they were served: in HTML (PEP 503) or JSON (PEP 691), in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """How a page is written."""

    HTML = "HTML"
    JSON = "JSON"


@dataclass(frozen=True, kw_only=True)
class Document:
    """An answer to a request."""

    url: str
    """That was asked for. Without credentials."""
    final_url: str
    """After redirects: what relative links are relative to."""
    status: int
    """0 when there was no answer."""
    content_type: str
    """Lower case, without parameters."""
    content: bytes
    size: int | None = None
    """Bytes of the whole, as the headers tell."""
    problem: str = ""
    """Why there is no whole answer."""

    @property
    def ok(self) -> bool:
        """Whether the whole of what was asked for came."""
        return self.status in (200, 206) and not self.problem

    @property
    def told(self) -> str:
        """What to say of an answer that is not ok: ``answers 404``."""
        return self.problem or f"answers {self.status}"


@dataclass(frozen=True, kw_only=True)
class FileLink:
    """A file as a project's page lists it; the values as they stand there, in the spelling of HTML's attributes."""

    page: str
    """URL of the page."""
    form: Form
    text: str
    """The anchor's text, or ``filename`` of JSON."""
    filename: str
    """What names the file: in HTML the last part of the URL's path, decoded; in JSON ``filename``."""
    url: str
    """Absolute, without the fragment."""
    hashes: Mapping[str, str]
    requires_python: str | None
    core_metadata: str | None
    """``true`` or ``sha256=...``; None when there is no sidecar."""
    legacy_metadata: str | None
    """The value of ``data-dist-info-metadata``, which is older."""
    yanked: str | None
    """The reason, which may be empty; None when it is not."""
    size: str | None
    upload_time: str | None
    provenance: str | None
    signature: str | None
    """The value of ``data-gpg-sig``: ``true`` or ``false``."""


@dataclass(frozen=True, kw_only=True)
class ProjectDetail:
    """A project's page."""

    document: Document
    form: Form
    project: str
    """Normalized, as asked for."""
    name: str | None
    """As the page says; HTML does not."""
    repository_version: str | None
    status: str | None
    """Of the project (PEP 792)."""
    versions: tuple[str, ...] | None
    files: tuple[FileLink, ...]


@dataclass(frozen=True, kw_only=True)
class ListedProject:
    """An entry of the project list."""

    text: str
    href: str | None
    """None in JSON, which gives names only."""


@dataclass(frozen=True, kw_only=True)
class ProjectList:
    """The root page."""

    document: Document
    form: Form
    repository_version: str | None
    projects: tuple[ListedProject, ...]
