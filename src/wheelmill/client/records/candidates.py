"""Where wheels are, and which there are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.tags import Tag
from packaging.utils import BuildTag
from packaging.version import Version

from wheelmill.config.model.sources import SourceFacts
from wheelmill.names import ProjectName, Sha256
from wheelmill.wheel.built_for import BuiltFor


class SourceKind(StrEnum):
    """How a source lists its wheels."""

    SIMPLE = "simple"
    """A simple index (PEP 503 or PEP 691): the URL above its projects."""
    FIND_LINKS = "find-links"
    """One page of links. ``{cuda}`` and ``{torch}`` in the URL stand for one page each."""
    GITHUB = "github"
    """The assets of a repository's releases: the URL of its REST API."""


@dataclass(frozen=True, kw_only=True)
class Source(SourceFacts):
    """A place that has wheels."""

    name: str
    kind: SourceKind
    url: str


@dataclass(frozen=True, kw_only=True)
class SourceList:
    """What a file of sources says."""

    site: str | None = None
    """The site of an index that has a newer one; None when nothing does."""
    sources: tuple[Source, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A wheel that could be installed somewhere."""

    filename: str
    project: ProjectName
    """The name that it is installed under."""
    version: Version
    """With its local label."""
    build: BuildTag
    tags: frozenset[Tag]
    label: BuiltFor
    """What its name says it was built for."""
    url: str
    """Absolute, without a fragment."""
    sha256: Sha256 | None
    size: int | None
    """Bytes."""
    requires_python: str | None
    metadata_sha256: Sha256 | None
    """Of the METADATA that lies at its URL + ``.metadata`` (PEP 658); None when there is none or no hash was given."""
    has_metadata: bool
    """Whether that file is there."""
    uploaded_at: str | None
    """RFC 3339."""
    yanked: str | None
    """The reason, which may be empty (PEP 592); None when it is not yanked."""
    source: Source
