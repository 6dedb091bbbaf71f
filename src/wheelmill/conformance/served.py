"""Pages and files of an index as they were served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wheelmill.names import ProjectName
from wheelmill.web.pages import Link, Page


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
    def failure(self) -> str:
        """What is wrong with an answer that is not ok: ``answers 404``."""
        return self.problem or f"answers {self.status}"


@dataclass(frozen=True, kw_only=True)
class ProjectList:
    """The root page in one of its forms."""

    document: Document
    page: Page


@dataclass(frozen=True, kw_only=True)
class ProjectDetail:
    """A project's page in one of its forms."""

    document: Document
    project: ProjectName
    """As it was asked for."""
    page: Page


@dataclass(frozen=True, kw_only=True)
class ExaminedFile:
    """A file of the sample, and what was asked for beyond its link. None stands for what was not asked for."""

    link: Link
    page: str
    """URL of the page that lists it, without credentials."""
    url: str
    """Of the file itself."""
    answer: Document
    """To a request for the file's first byte; without content."""
    digests: Mapping[str, str] | None
    """Of the whole file, for every function that its link names."""
    sidecar: Document | None
    """None where the link announces none."""
    metadata: bytes | None
    """METADATA inside the wheel."""
    provenance: Document | None
    signature: Document | None
