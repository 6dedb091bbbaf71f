"""The pages of an index: asked for side by side, and read many in one process apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, Final
from urllib.parse import urljoin

from wheelmill.conformance.fetch import Fetcher
from wheelmill.conformance.limits import READABLE
from wheelmill.conformance.reading import Reading, read_detail, read_list
from wheelmill.conformance.served import Document
from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.system.apart import Limits, call_apart
from wheelmill.web.client import in_turn
from wheelmill.web.credentials import without_credentials

MAX_KEPT: Final = 3_000_000
"""Projects, files and violations that pages may have together: about 3 GB of memory."""

_IN_ONE_PROCESS: Final = 50
"""Pages that are read by one process, which takes a third of a second to start."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that is to be read."""

    url: str
    """With a slash at its end."""
    read: Callable[[Sequence[Document]], dict[str, Any]]
    """Gives a `Reading` of its forms as plain values."""


def list_at(root: str) -> Page:
    """The project list with this URL."""
    return Page(url=root, read=read_list)


def page_of(project: ProjectName, root: str) -> Page:
    """The page of a project in the index whose project list has this URL."""
    return Page(url=urljoin(root, f"{project}/"), read=partial(read_detail, project=project))


def read_apart(
    pages: Sequence[Page], fetcher: Fetcher, limits: Limits, *, told: Callable[[int], None]
) -> Iterator[tuple[str, Reading]]:
    """Read pages.

    Args:
        pages: to be read.
        fetcher: asks for them.
        limits: how much reading one may take.
        told: called with how many have come so far.

    Returns:
        The URL of each, without credentials, and what it says.
    """
    kept = 0
    for start in range(0, len(pages), _IN_ONE_PROCESS):
        batch = pages[start : start + _IN_ONE_PROCESS]
        calls = _calls(batch, fetcher, told, done=start)
        answers: Iterator[Any] = call_apart(calls, limits) if kept <= MAX_KEPT else repeat(None)
        for page, answer in zip(batch, answers, strict=False):
            url = without_credentials(page.url)
            if kept > MAX_KEPT:
                reading = _unread(url, f"is not read: those before it have more than {MAX_KEPT} files and faults")
            elif isinstance(answer, UnreadableError):
                reading = _unread(url, str(answer))
            else:
                reading = Reading.of(answer)
            kept += len(reading.projects) + len(reading.files) + len(reading.violations)
            yield url, reading


def _calls(
    pages: Sequence[Page], fetcher: Fetcher, told: Callable[[int], None], *, done: int
) -> Iterator[Callable[[], dict[str, Any]]]:
    """Ask for pages, so many after the first one; what is left to do is to read them."""
    answers = in_turn(lambda page: fetcher.get_page(page.url), pages, at_once=fetcher.politeness.connections)
    for number, (page, forms) in enumerate(zip(pages, answers, strict=True), start=done + 1):
        told(number)
        yield partial(page.read, forms)


def _unread(url: str, why: str) -> Reading:
    """The result for a page that was not read, or not to its end."""
    return Reading(violations=[READABLE.violation(url, f"the page {why}")])
