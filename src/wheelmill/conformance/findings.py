"""Violations as people want to read them: the same sentence about a hundred files is one finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from wheelmill.conformance.violation import Rule, Violation
from wheelmill.system.process import printable

_EXAMPLES: Final = 10
"""Places of a finding that reports name."""
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
"""Messages have in quotes what a page says."""
_LONGEST: Final = 500
"""Characters of a URL or a message that people are shown."""
_STATUS_DIGITS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A sentence, and the places that it is true of."""

    rule: Rule
    places: tuple[Violation, ...]
    """Pages and files, at least one; what their messages say is the same but for names, versions and hashes."""

    @property
    def url(self) -> str:
        """Of the first place."""
        return self.places[0].url

    @property
    def message(self) -> str:
        """What breaks the rule at the first place."""
        return self.places[0].message

    @property
    def count(self) -> int:
        """How many places there are."""
        return len(self.places)

    @property
    def examples(self) -> tuple[Violation, ...]:
        """The first places."""
        return self.places[:_EXAMPLES]


def findings_of(violations: Iterable[Violation]) -> list[Finding]:
    """Group violations that say the same, in the order of their first ones."""
    places: dict[tuple[Rule, str], list[Violation]] = {}
    for violation in violations:
        places.setdefault((violation.rule, _sentence(violation.message)), []).append(violation)
    return [Finding(rule=rule, places=tuple(found)) for (rule, _), found in places.items()]


def _sentence(message: str) -> str:
    """A message without its particulars: quoted texts, and words with digits, such as file names and hashes."""
    words = _QUOTED.sub("…", message).split()
    return " ".join("…" if _is_subject(word) else word for word in words)


def _is_subject(word: str) -> bool:
    is_status = len(word) == _STATUS_DIGITS and word.isdecimal()
    return any(character.isdigit() for character in word) and not is_status


def legible(text: str) -> str:
    """Cut short, and nothing that moves a terminal's cursor, breaks XML or orders a CI runner: it is anybody's text."""
    cut = f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
    seen = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cut)
    return printable(seen)
