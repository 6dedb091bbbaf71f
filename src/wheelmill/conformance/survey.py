"""Going through an index: the project list, the pages, and a sample of the files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urljoin

from wheelmill.conformance import documents, pep503, pep503_rules, pep691
from wheelmill.conformance.examine import examine
from wheelmill.conformance.fetch import Fetcher
from wheelmill.conformance.finding import Finding, Report
from wheelmill.conformance.pages import FileLink, ProjectDetail
from wheelmill.conformance.rules import OF_DETAIL, OF_FILE, OF_LIST, RULES
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress

MAX_PAGES: Final = 200
MAX_FILES: Final = 50
"""How many pages and files are read where not all are."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class Survey:
    """A check of one index, or of several that share their files."""

    fetcher: Fetcher
    connections: int
    """How many requests run at a time."""
    everything: bool
    """Whether all pages, and all bytes of all files, are read instead of a sample."""
    progress: Progress

    def run(self, roots: Iterable[str]) -> Report:
        """Check indexes.

        Args:
            roots: URLs of their project lists, each with a slash at its end.
        """
        findings: list[Finding] = []
        projects: list[tuple[str, ProjectName]] = []
        for root in roots:
            names, faults = self._list(root)
            findings += faults
            projects += [(urljoin(root, f"{name}/"), name) for name in names]
            findings += self._slash(urljoin(root, names[0])) if names else ()
        chosen_pages = self._sample(projects, MAX_PAGES)
        # Of a file that stands in both forms the JSON is looked at, which can say more.
        links: dict[str, FileLink] = {}
        for pages, faults in self._each("pages", self._detail, chosen_pages):
            findings += faults
            for page in sorted(pages, key=lambda page: page.form, reverse=True):
                for link in page.files:
                    links.setdefault(link.url, link)
        chosen_files = self._sample([links[url] for url in sorted(links)], MAX_FILES)
        findings += itertools.chain(*self._each("files", self._file, chosen_files))
        order = {rule: number for number, rule in enumerate(RULES)}
        return Report(
            findings=tuple(sorted(set(findings), key=lambda it: (order[it.rule], it.url, it.message))),
            projects=len(projects),
            pages=len(chosen_pages),
            files=len(links),
            examined=len(chosen_files),
        )

    def _list(self, root: str) -> tuple[list[ProjectName], list[Finding]]:
        """The projects of an index, and what its project list breaks."""
        pages, findings = documents.project_lists(self.fetcher, root)
        findings += (finding for page in pages for check in OF_LIST for finding in check(page))
        findings += pep691.of_lists(pages)
        names = {name for page in pages for entry in page.projects if (name := pep503.project_of(entry))}
        return sorted(names), findings

    def _slash(self, url: str) -> Iterator[Finding]:
        """What an index breaks for a URL that lacks its slash."""
        answer = self.fetcher.first_byte(url)
        if not answer.ok or not answer.final_url.endswith("/"):
            told = f"stays at {answer.final_url}" if answer.ok else answer.told
            yield pep503_rules.SLASH.broken(url, f"the URL without a slash {told}")

    def _detail(self, wanted: tuple[str, ProjectName]) -> tuple[list[ProjectDetail], list[Finding]]:
        """The forms of a project's page, and what they break."""
        pages, findings = documents.project_details(self.fetcher, *wanted)
        findings += (finding for page in pages for check in OF_DETAIL for finding in check(page))
        findings += pep691.of_details(pages)
        return pages, findings

    def _file(self, link: FileLink) -> list[Finding]:
        """What a file breaks."""
        file = examine(link, self.fetcher, every_byte=self.everything)
        return [finding for check in OF_FILE for finding in check(file)]

    def _sample(self, items: Sequence[_Item], most: int) -> Sequence[_Item]:
        """All, or as many, evenly spread and the same every time."""
        if self.everything or len(items) <= most:
            return items
        return [items[number * len(items) // most] for number in range(most)]

    def _each(self, what: str, work: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
        """Do the same with all items, several at a time, and tell how far it is."""
        pool = ThreadPoolExecutor(self.connections)
        try:
            for number, result in enumerate(pool.map(work, items), start=1):
                self.progress.line(f"{number} of {len(items)} {what}")
                yield result
        finally:
            pool.shutdown(cancel_futures=True)
