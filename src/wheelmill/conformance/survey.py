"""What is examined of an index: the project list, the pages, and a sample of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urljoin

from wheelmill.conformance import pep345, pep503
from wheelmill.conformance.examine import examine
from wheelmill.conformance.fetch import Fetcher
from wheelmill.conformance.folder import ORIGIN
from wheelmill.conformance.host import observe
from wheelmill.conformance.pages import Page, list_at, page_of, read_apart
from wheelmill.conformance.reading import Reading
from wheelmill.conformance.rules import FILE_CHECKS, RULES
from wheelmill.conformance.served import ExaminedFile
from wheelmill.conformance.violation import ConformanceReport, Observation, Violation
from wheelmill.names import ProjectName
from wheelmill.system.apart import Limits
from wheelmill.system.progress import Progress
from wheelmill.web.client import in_turn
from wheelmill.web.pages import Link

MAX_PAGES: Final = 200
MAX_FILES: Final = 50
"""How many pages and files are read where not all are."""

_Item = TypeVar("_Item")
_Listed = tuple[str, tuple[Link, str]]
"""The URL of a file, its link, and the page that has it."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """A check of one index, or of several that share their files."""

    fetcher: Fetcher
    everything: bool
    """Whether all pages, and all bytes of all files, are read instead of a sample."""
    limits: Limits
    progress: Progress

    def run(self, roots: Sequence[str], projects: Sequence[ProjectName]) -> ConformanceReport:
        """Check indexes.

        Args:
            roots: the URLs of their project lists, each with a slash at its end.
            projects: whose pages are read; without any, those that the lists have, and the lists themselves.
        """
        violations: list[Violation] = []
        pages: list[Page] = []
        named = [(root, Reading(projects=projects)) for root in roots if projects]
        for root, listed in named or self._read("project lists", [list_at(root) for root in roots]):
            violations += listed.violations
            pages += (page_of(name, root) for name in listed.projects)
            violations += self._slash(urljoin(root, listed.projects[0])) if listed.projects else ()
        chosen_pages = self._sample(pages, MAX_PAGES)
        files: dict[str, tuple[Link, str]] = {}
        largest = (0, "")
        for page, detail in self._read("pages", chosen_pages):
            violations += detail.violations
            largest = max(largest, (len(detail.files), page))
            for url, link in detail.files:
                files.setdefault(url, (link, page))
        chosen_files = self._sample(sorted(files.items()), MAX_FILES)
        seen: pep345.Requirements = {}
        for file, faults in self._examine(chosen_files):
            violations += faults
            violations += pep345.compare_requirements(file, seen)
        order = {rule: number for number, rule in enumerate(RULES)}
        return ConformanceReport(
            violations=tuple(sorted(set(violations), key=lambda it: (order[it.rule], it.url, it.message))),
            projects=len(pages),
            pages=len(chosen_pages),
            files=len(files),
            examined=len(chosen_files),
            observations=tuple(self._host(largest[1], chosen_files)),
        )

    def _read(self, what: str, pages: Sequence[Page]) -> Iterator[tuple[str, Reading]]:
        """The URL of each page, and what it says; they are named in the plural."""
        return read_apart(pages, self.fetcher, self.limits, told=lambda number: self._tell(number, len(pages), what))

    def _slash(self, url: str) -> Iterator[Violation]:
        """What an index breaks for a URL that lacks its slash."""
        answer = self.fetcher.first_byte(url)
        if not answer.ok or not answer.final_url.endswith("/"):
            told = f"stays at {answer.final_url}" if answer.ok else answer.failure
            yield pep503.SLASH.violation(url, f"the URL without a slash {told}")

    def _examine(self, files: Sequence[_Listed]) -> Iterator[tuple[ExaminedFile, list[Violation]]]:
        """Files, and what each breaks."""
        examined = in_turn(self._file, files, at_once=self.fetcher.politeness.connections)
        for number, found in enumerate(examined, start=1):
            self._tell(number, len(files), "files")
            yield found

    def _file(self, listed: _Listed) -> tuple[ExaminedFile, list[Violation]]:
        url, (link, page) = listed
        file = examine(link, page, url, self.fetcher, every_byte=self.everything)
        return file, [violation for check in FILE_CHECKS for violation in check(file)]

    def _tell(self, number: int, of: int, what: str) -> None:
        self.progress.line(f"{number} of {of} {what}")

    def _host(self, page: str, files: Sequence[tuple[str, object]]) -> Iterator[Observation]:
        """What the host does with a page and the first of the files. A folder has no host."""
        if page and not page.startswith(ORIGIN):
            yield from observe(self.fetcher.web, page, files[0][0] if files else None)

    def _sample(self, items: Sequence[_Item], most: int) -> Sequence[_Item]:
        """All items, or a sample of them: evenly spread, and the same every time."""
        if self.everything or len(items) <= most:
            return items
        return [items[number * len(items) // most] for number in range(most)]
