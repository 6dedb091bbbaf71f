"""Checking what a person named, a URL or a folder: the project list, the pages, and a sample of the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urljoin

from wheelmill.conformance import pep345, pep503, pep691, pep792
from wheelmill.conformance.documents import read_pages
from wheelmill.conformance.examine import examine
from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.conformance.folder import ORIGIN
from wheelmill.conformance.rules import DETAIL_CHECKS, FILE_CHECKS, LIST_CHECKS, RULES
from wheelmill.conformance.served import ExaminedFile, ProjectDetail, ProjectList
from wheelmill.conformance.violation import ConformanceReport, Observation, Violation
from wheelmill.errors import NetworkError, UsageError
from wheelmill.index.serve import project_lists_below, root_of
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.web.json_pages import read_project_detail, read_project_list
from wheelmill.web.pages import Link, absolute
from wheelmill.web.retries import Sleep

MAX_PAGES: Final = 200
MAX_FILES: Final = 50
"""How many pages and files are read where not all are."""

_UNBOUNDED: Final = 1e6

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Told = TypeVar("_Told", Violation, Observation)


def check_url(
    url: str,
    *,
    everything: bool = False,
    politeness: Politeness = Politeness(),  # noqa: B008 - frozen
    progress: Progress | None = None,
    sleep: Sleep = time.sleep,
) -> ConformanceReport:
    """Check the index whose project list is at a URL.

    Args:
        url: with a user and a password where the index asks for them.
        everything: whether all pages, and all bytes of all files, are read instead of a sample.
        politeness: how much is asked of the servers.
        progress: told what was read.
        sleep: waits for so many seconds.

    Raises:
        UsageError: this is no URL.
        NetworkError: nobody answers there.
    """
    root = url if url.endswith("/") else f"{url}/"
    try:
        client = Fetcher(root, politeness=politeness, sleep=sleep)
    except ValueError as error:
        raise UsageError(f"expected the URL of an index: {error}") from None
    with client as fetcher:
        if not (answer := fetcher.first_byte(root)).status:
            raise NetworkError(f"{answer.url} {answer.problem}")
        return _Survey(fetcher, everything, progress or Progress()).run([root])


def check_folder(directory: Path, *, everything: bool = False, progress: Progress | None = None) -> ConformanceReport:
    """Check every index in a folder, as a static host would serve it.

    Args:
        directory: a site, the folder above a site and its releases, or the folder of a project list.
        everything: whether all pages, and all bytes of all files, are read instead of a sample.
        progress: told what was read.

    Raises:
        SiteError: it holds no index.
    """
    root = root_of(directory).resolve()
    below = [path.resolve().relative_to(root).as_posix() for path in project_lists_below(directory)]
    lists = [f"{ORIGIN}/{quote(path)}/" for path in below]
    with Fetcher(ORIGIN, folder=root, politeness=Politeness(rate=_UNBOUNDED)) as fetcher:
        report = _Survey(fetcher, everything, progress or Progress()).run(lists)
    return replace(
        report,
        violations=tuple(map(_without_origin, report.violations)),
        observations=tuple(map(_without_origin, report.observations)),
    )


def _without_origin(told: _Told) -> _Told:
    """Name pages by their paths in the folder."""
    url, message = (text.replace(f"{ORIGIN}/", "") for text in (told.url, told.message))
    return replace(told, url=url, message=message)


@dataclass(frozen=True)
class _Survey:
    """A check of one index, or of several that share their files."""

    fetcher: Fetcher
    everything: bool
    """Whether all pages, and all bytes of all files, are read instead of a sample."""
    progress: Progress

    def run(self, roots: Iterable[str]) -> ConformanceReport:
        """Check indexes: the URLs are of their project lists, each with a slash at its end."""
        violations: list[Violation] = []
        projects: list[tuple[str, ProjectName]] = []
        for root in roots:
            names, faults = self._list(root)
            violations += faults
            projects += [(urljoin(root, f"{name}/"), name) for name in names]
            violations += self._slash(urljoin(root, names[0])) if names else ()
        chosen_pages = self._sample(projects, MAX_PAGES)
        # Of a file that stands in both forms the JSON is looked at, which can say more.
        files: dict[str, tuple[Link, str]] = {}
        for pages, faults in self._each("pages", self._detail, chosen_pages):
            violations += faults
            for detail in sorted(pages, key=lambda detail: detail.page.form, reverse=True):
                for link in detail.page.links:
                    files.setdefault(absolute(detail.page.base, link.url) or link.url, (link, detail.document.url))
        chosen_files = self._sample(sorted(files.items()), MAX_FILES)
        seen: pep345.Requirements = {}
        for file, faults in self._each("files", self._file, chosen_files):
            violations += faults
            violations += pep345.compare_requirements(file, seen)
        order = {rule: number for number, rule in enumerate(RULES)}
        return ConformanceReport(
            violations=tuple(sorted(set(violations), key=lambda it: (order[it.rule], it.url, it.message))),
            projects=len(projects),
            pages=len(chosen_pages),
            files=len(files),
            examined=len(chosen_files),
        )

    def _list(self, root: str) -> tuple[list[ProjectName], list[Violation]]:
        """The projects of an index, and what its project list breaks."""
        pages, violations = read_pages(self.fetcher, root, pep503.ROOT, read_project_list)
        forms = [ProjectList(document=document, page=page) for document, page in pages]
        violations += (violation for form in forms for check in LIST_CHECKS for violation in check(form))
        violations += pep691.compare_lists(forms)
        names = {name for form in forms for link in form.page.links if (name := pep503.project_of(link))}
        return sorted(names), violations

    def _slash(self, url: str) -> Iterator[Violation]:
        """What an index breaks for a URL that lacks its slash."""
        answer = self.fetcher.first_byte(url)
        if not answer.ok or not answer.final_url.endswith("/"):
            told = f"stays at {answer.final_url}" if answer.ok else answer.failure
            yield pep503.SLASH.violation(url, f"the URL without a slash {told}")

    def _detail(self, listed: tuple[str, ProjectName]) -> tuple[list[ProjectDetail], list[Violation]]:
        """The forms of a project's page, and what they break."""
        url, project = listed
        pages, violations = read_pages(self.fetcher, url, pep503.PROJECT, read_project_detail)
        forms = [ProjectDetail(document=document, page=page, project=project) for document, page in pages]
        violations += (violation for form in forms for check in DETAIL_CHECKS for violation in check(form))
        violations += pep691.compare_details(forms)
        violations += pep792.compare_details(forms)
        return forms, violations

    def _file(self, listed: tuple[str, tuple[Link, str]]) -> tuple[ExaminedFile, list[Violation]]:
        """A file, and what it breaks."""
        url, (link, page) = listed
        file = examine(link, page, url, self.fetcher, every_byte=self.everything)
        return file, [violation for check in FILE_CHECKS for violation in check(file)]

    def _sample(self, items: Sequence[_Item], most: int) -> Sequence[_Item]:
        """All, or as many, evenly spread and the same every time."""
        if self.everything or len(items) <= most:
            return items
        return [items[number * len(items) // most] for number in range(most)]

    def _each(self, what: str, work: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
        """Do the same with all items, several at a time, and tell how far it is."""
        pool = ThreadPoolExecutor(self.fetcher.politeness.connections)
        try:
            for number, result in enumerate(pool.map(work, items), start=1):
                self.progress.line(f"{number} of {len(items)} {what}")
                yield result
        finally:
            pool.shutdown(cancel_futures=True)
