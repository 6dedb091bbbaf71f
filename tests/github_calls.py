"""Calls of GitHub's API, its answers, and what can go wrong with one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

REPOSITORY = "octo/wheels"

Answer = tuple[int, dict[str, str], Any]
"""Status, headers and content."""


@dataclass(frozen=True)
class Call:
    """A request to the API, for those who look at it later."""

    method: str
    path: str
    query: Mapping[str, str]
    content_type: str | None
    body: bytes

    def __str__(self) -> str:
        place = self.path.removeprefix(f"/repos/{REPOSITORY}")
        return f"{self.method} {place or '/'}{' ' + self.query['name'] if 'name' in self.query else ''}"


class Fault(StrEnum):
    """What can go wrong with one call."""

    BEFORE = "5xx before"
    """The server fails and does nothing; an upload leaves an empty asset."""
    AFTER = "5xx after"
    """The server does it and then fails."""
    LIMITED = "403 limit"
    """The client is told to come back later."""
    CUT = "cut"
    """The server does it, and the connection breaks before the answer."""
    TRUNCATED = "truncated"
    """Half of the bytes of an upload arrive."""
    PAGE = "200 page"
    """The server does it, and what stands before it answers with a page for people."""
    EMPTY = "200 empty"
    """The server does it, and the answer has no body."""

    @property
    def answer(self) -> Answer | None:
        """What takes the place of the answer to what was done."""
        page = {"Content-Type": "text/html"}, "<html>Unicorn!</html>"
        answers: dict[Fault, Answer | None] = {Fault.AFTER: (502, *page), Fault.PAGE: (200, *page), Fault.CUT: None}
        return answers.get(self, (200, {}, ""))
