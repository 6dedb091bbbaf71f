"""Pages and files of an index as they were served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from packaging.metadata import Metadata

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.web.pages import SIDECAR_SUFFIX, Link, Page
from wheelmill.wheel.metadata import read_metadata


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
class Inside:
    """What a wheel holds, as far as somebody looks at it."""

    broken: str = ""
    """Why it cannot be read; empty for a wheel that can."""
    refused: tuple[str, ...] = ()
    """Why nobody should unpack it, as far as its bytes were read."""
    dist_info: frozenset[str] = frozenset()
    """The members in its ``.dist-info`` folders."""
    metadata: bytes | None = None
    variant: bytes | None = None
    """What says which machines a variant wheel is for (PEP 825)."""


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
    inside: Inside | None
    """None for what is no wheel, or could not be looked into."""
    provenance: Document | None
    signature: Document | None
    variants: Document | None
    """The file itself, where it is the list of a version's variants."""

    @property
    def metadata(self) -> bytes | None:
        """METADATA inside the wheel."""
        return self.inside.metadata if self.inside else None

    @property
    def said(self) -> bytes | None:
        """METADATA that installers resolve by: the one beside the wheel, or the one in it."""
        return self.sidecar.content if self.sidecar and self.sidecar.ok else self.metadata

    @property
    def said_at(self) -> str:
        """URL of what says it."""
        return self.url + SIDECAR_SUFFIX if self.sidecar and self.sidecar.ok else self.url

    @cached_property
    def resolved(self) -> Metadata | None:
        """What `said` says; None where it cannot be read."""
        try:
            return None if self.said is None else read_metadata(self.said)
        except UnreadableError:
            return None
