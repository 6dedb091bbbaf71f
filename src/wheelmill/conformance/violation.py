"""Rules of the simple index, and where an index departs from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a departure is. The values are part of the command's JSON."""

    ERROR = "error"
    """An installer fails."""
    WARNING = "warning"
    """A rule is broken, and the installers of today cope."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What an installer does with an index that breaks a rule."""

    fails: bool
    """Whether it ends with an error instead of installing."""
    what: str

    def __str__(self) -> str:
        """``fails: no matching distribution``."""
        return f"{'fails' if self.fails else 'installs'}: {self.what}"


def fails(what: str) -> Effect:
    """The effect that nothing is installed."""
    return Effect(fails=True, what=what)


def installs(what: str) -> Effect:
    """The effect that something is installed all the same."""
    return Effect(fails=False, what=what)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: one sentence of a PEP, or of this check itself, that an index can break."""

    number: str
    """The PEP and a count: ``658.2``; ``wheelmill.1`` for one of our own. A number never changes its meaning."""
    text: str
    """The rule itself."""
    section: str
    """The heading that it stands under in the PEP."""
    pip: Effect
    uv: Effect
    otherwise: Severity
    """Where neither installer fails."""

    @property
    def pep(self) -> str:
        """The source of the rule: ``PEP 658``, or ``wheelmill``."""
        start = self.number.partition(".")[0]
        return f"PEP {start}" if start.isdigit() else start

    @property
    def severity(self) -> Severity:
        """An error when one of the installers fails."""
        return Severity.ERROR if self.pip.fails or self.uv.fails else self.otherwise

    def violation(self, url: str, message: str) -> Violation:
        """A page or a file breaks the rule.

        Args:
            url: of the page or the file, without credentials.
            message: what breaks the rule there.
        """
        return Violation(rule=self, url=url, message=message)


def rule(
    number: str,
    text: str,
    pip: Effect,
    uv: Effect | None = None,
    *,
    section: str = "Specification",
    otherwise: Severity = Severity.WARNING,
) -> Rule:
    """A rule as it is declared: uv does what pip does where nothing else is said."""
    return Rule(number=number, text=text, section=section, pip=pip, uv=uv or pip, otherwise=otherwise)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One place where an index breaks a rule."""

    rule: Rule
    url: str
    """Of the page or the file. Without credentials."""
    message: str


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What an index or its host does that no rule asks for: people are told, and it is no finding."""

    topic: str
    """What it is about, the same word for the same question: ``compression``."""
    url: str
    """Of the page or the file that was asked for. Without credentials."""
    message: str


@dataclass(frozen=True, kw_only=True)
class ConformanceReport:
    """What a check read, and what it found."""

    violations: tuple[Violation, ...]
    """By rule and URL; none twice."""
    projects: int
    """That the index lists."""
    pages: int
    """Of projects that were read."""
    files: int
    """That those pages list."""
    examined: int
    """Files that were asked for."""
    observations: tuple[Observation, ...] = ()
    """By topic and URL."""
