"""The records of the client about sources of wheels, and the outcomes of looking into them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wheelmill.config.model.sources import SourceFacts
from wheelmill.names import ProjectName


class SourceKind(StrEnum):
    """How a source lists its wheels."""

    SIMPLE = "simple"
    """A simple index (PEP 503 or PEP 691): the URL above its projects; may have placeholders, too."""
    FIND_LINKS = "find-links"
    """One page of links. ``{cuda}`` and ``{torch}`` in the URL stand for one page each."""
    GITHUB = "github"
    """The assets of a repository's releases: the URL of its REST API."""
    HUGGINGFACE = "huggingface"
    """The files of a repository: the URL of their list."""


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
    """The site of an index that has newer versions of the file; None if there is none."""
    sources: tuple[Source, ...]


class Outcome(StrEnum):
    """The outcome of looking for a project in a source. The values are part of the commands' JSON.

    Of several pages of one source, the outcome that is first here counts: the unknown outweighs the known.
    """

    UNREACHABLE = "unreachable"
    """No answer, or an error of the server."""
    LIMITED = "limited"
    """The server answers no more requests for now (429, GitHub's limit)."""
    REFUSED = "refused"
    """A credential is needed, or another one (401, 403)."""
    NOT_AN_INDEX = "not-an-index"
    """An answer that cannot be a list of wheels."""
    NOT_ASKED = "not-asked"
    """``--offline`` was given, and the cache does not have it."""
    FOUND = "found"
    """It lists wheels of the project, whether they fit or not."""
    HAS_NONE = "has-none"
    ABSENT = "absent"
    """The server has no such page (404, 410)."""

    @property
    def is_open(self) -> bool:
        """Whether the source gave no useful answer, so that it may have the project all the same."""
        return self in _OPEN

    def __str__(self) -> str:
        """The value in words: ``has none``."""
        return self.value.replace("-", " ")


_OPEN: Final = frozenset({Outcome.UNREACHABLE, Outcome.LIMITED, Outcome.REFUSED, Outcome.NOT_AN_INDEX})


@dataclass(frozen=True, kw_only=True)
class SourceOutcome:
    """The outcome of looking for one project in one source."""

    project: ProjectName
    source: Source
    outcome: Outcome
    url: str
    """The page that decided the outcome."""
    detail: str = ""
    """What the server said, and what to do about it; empty if the outcome says everything."""

    @property
    def warning(self) -> str | None:
        """A warning, if there was no answer, or the page does not exist or has no wheel at all.

        A simple index may well lack a project, and a source the page for a target.
        """
        is_index = self.source.kind is SourceKind.SIMPLE
        match self.outcome:
            case Outcome.FOUND:
                expected = True
            case Outcome.HAS_NONE:
                expected = is_index or not self.detail
            case Outcome.ABSENT:
                expected = is_index or "{" in self.source.url
            case _:
                expected = False
        return None if expected else f"{self.url}: {self.detail}"
