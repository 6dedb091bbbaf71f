"""Known causes of failures, recognized in what programs print, and the phrases that blame a machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

MAX_SEARCHED: Final = 1 << 20
"""Characters at the end of a text that are searched; more than an error has of a program's last lines."""

NETWORK: Final = (
    *("name resolution", "resolve host", "getaddrinfo", "name or service not known", "network is unreachable"),
    *("connection refused", "connection reset", "connection aborted", "connection error", "max retries"),
    *("urlopen error", "http error", "ssl:"),
)
MEMORY: Final = (
    *("killed", "signal 9", "exit code 137", "exit code: 137", "memory allocation failure", "bad_alloc"),
    *("out of memory", "memory exhausted", "cannot allocate memory"),
)
DISK: Final = ("no space left", "quota exceeded")
"""Phrases that stand in what is printed where the network, memory or disk is to blame, in lower case."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Known cause of a failure."""

    pattern: str
    """A regular expression, in which case does not matter."""
    hint: str
    """What it means, and what to do; the pattern's named groups and the caller's facts stand in braces."""
    code: str = ""
    """Its name in JSON; empty if no output has it."""


def find_cause(printed: str, causes: Iterable[Cause], **facts: object) -> Cause | None:
    """Return the first cause whose pattern is in a text, with its hint filled in; None if there is none."""
    for cause in causes:
        if found := re.search(cause.pattern, printed[-MAX_SEARCHED:], re.IGNORECASE):
            groups = {name: value or "" for name, value in found.groupdict().items()}
            return replace(cause, hint=cause.hint.format(**facts, **groups))
    return None


def any_of(phrases: Iterable[str]) -> str:
    """Return the regular expression of phrases, none of them as a part of a word."""
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, phrases))})(?!\w)"
