"""Rules of the simple index, their violations, and the files that they check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Final

from packaging.metadata import Metadata

from wheelmill.errors import UnreadableError
from wheelmill.web.pages import SIDECAR_SUFFIX, Link
from wheelmill.wheel.metadata import read_metadata


class Severity(StrEnum):
    """Severity of a departure. The values are part of the command's JSON."""

    ERROR = "error"
    """An installer fails."""
    WARNING = "warning"
    """A rule is broken, and the installers of today cope."""


@dataclass(frozen=True)
class Effect:
    """Behaviour of an installer with an index that breaks a rule."""

    fails: bool
    """True if it ends with an error; false if it installs all the same."""
    what: str

    def __str__(self) -> str:
        """``fails: no matching distribution``."""
        return f"{'fails' if self.fails else 'installs'}: {self.what}"


fails: Final = partial(Effect, True)  # noqa: FBT003 - its only flag
installs: Final = partial(Effect, False)  # noqa: FBT003
IGNORES: Final = installs("ignores it")
"""Effect on an installer that does not read the attribute in question."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One sentence of a PEP, or of this check itself, that an index can break."""

    number: str
    """The PEP and a count: ``658.2``; ``wheelmill.1`` for one of our own. A number never changes its meaning."""
    text: str
    section: str
    """The heading that it stands under in the PEP."""
    pip: Effect
    uv: Effect

    @property
    def pep(self) -> str:
        """Source of the rule: ``PEP 658``, or ``wheelmill``."""
        start = self.number.partition(".")[0]
        return f"PEP {start}" if start.isdigit() else start

    @property
    def severity(self) -> Severity:
        """Error if an installer fails, or if the rule is our own: what breaks it is not checked."""
        is_own = self.pep == "wheelmill"
        return Severity.ERROR if self.pip.fails or self.uv.fails or is_own else Severity.WARNING

    def violation(self, url: str, message: str) -> Violation:
        """Report a violation by the page or file at `url`, which has no credentials."""
        return Violation(rule=self, url=url, message=message)


def rule(number: str, text: str, pip: Effect, uv: Effect | None = None, *, section: str = "Specification") -> Rule:
    """Declare a rule; uv does what pip does if `uv` is None."""
    return Rule(number=number, text=text, section=section, pip=pip, uv=uv or pip)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One place where an index breaks a rule."""

    rule: Rule
    url: str
    """URL of the page or the file, without credentials."""
    message: str


Breach = tuple[Rule, str]
"""A broken rule and the message, as a check of a page yields them: what read the page adds the URL."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Behaviour of an index or its host that no rule asks for: reports name it, and it is no finding."""

    topic: str
    """Subject, the same word for the same question: ``compression``."""
    url: str
    """URL of the page or the file that was asked for, without credentials."""
    message: str


@dataclass(frozen=True, kw_only=True)
class ConformanceReport:
    """Counts, violations and observations of a check."""

    violations: tuple[Violation, ...]
    """By rule and URL; none twice."""
    projects: int
    """Projects that the index lists."""
    pages: int
    """Project pages that were read."""
    files: int
    """Files that those pages list."""
    examined: int
    """Files that were asked for."""
    observations: tuple[Observation, ...] = ()
    """By topic and URL."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """Answer to a request."""

    url: str
    """URL that was asked for, without credentials."""
    final_url: str
    """After redirects: what relative links are relative to."""
    status: int
    """0 when there was no answer."""
    content_type: str
    """Lower case, without parameters."""
    content: bytes
    size: int | None = None
    """Bytes of the whole, by the headers."""
    problem: str = ""
    """Why there is no whole answer."""

    @property
    def ok(self) -> bool:
        """True if the answer came whole."""
        return self.status in (200, 206) and not self.problem

    @property
    def failure(self) -> str:
        """Fault of an answer that is not ok: ``answers 404``."""
        return self.problem or f"answers {self.status}"


@dataclass(frozen=True, kw_only=True)
class FileContents:
    """Contents of a wheel that the checks read."""

    broken: str = ""
    """Why it cannot be read; empty for a wheel that can."""
    refused: tuple[str, ...] = ()
    """Reasons not to unpack it, as far as its bytes were read."""
    dist_info: frozenset[str] = frozenset()
    """The members in its ``.dist-info`` folders."""
    metadata: bytes | None = None
    variant: bytes | None = None
    """Description of the machines that a variant wheel is for (PEP 825)."""


@dataclass(frozen=True, kw_only=True)
class ExaminedFile:
    """File of the sample, and the answers to requests beyond its link; an answer is None if there was no request."""

    link: Link
    page: str
    """URL of the page that lists it, without credentials."""
    url: str
    """URL of the file itself."""
    answer: Document
    """To a request for the file's first byte; without content."""
    is_there_escaped: bool
    """True if only a URL with %2B in the place of each + in the path gives the file."""
    digests: Mapping[str, str] | None
    """Hashes of the whole file, for every function that its link names."""
    sidecar: Document | None
    """None where the link announces none."""
    inside: FileContents | None
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
    def installer_metadata(self) -> bytes | None:
        """METADATA that installers resolve by: the sidecar, or the one in the wheel."""
        return self.sidecar.content if self.sidecar and self.sidecar.ok else self.metadata

    @property
    def metadata_url(self) -> str:
        """URL of `installer_metadata`."""
        return self.url + SIDECAR_SUFFIX if self.sidecar and self.sidecar.ok else self.url

    @cached_property
    def resolved(self) -> Metadata | None:
        """Parsed `installer_metadata`; None if it cannot be read."""
        try:
            return None if self.installer_metadata is None else read_metadata(self.installer_metadata)
        except UnreadableError:
            return None
