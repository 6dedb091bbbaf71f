"""Checking what a person named, a URL or a folder: the project list, the pages, and a sample of the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote, urljoin

from wheelmill.conformance import pep345, pep503
from wheelmill.conformance.examine import examine
from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.conformance.folder import ORIGIN
from wheelmill.conformance.host import observe
from wheelmill.conformance.limits import LIMITS, READABLE
from wheelmill.conformance.reading import Reading, read_detail, read_list
from wheelmill.conformance.rules import FILE_CHECKS, RULES
from wheelmill.conformance.served import Document, ExaminedFile
from wheelmill.conformance.violation import ConformanceReport, Observation, Violation
from wheelmill.errors import NetworkError, UnreadableError, UsageError
from wheelmill.index.serve import project_lists_below, root_of
from wheelmill.names import ProjectName
from wheelmill.system.apart import Limits, call_apart
from wheelmill.system.progress import QUIET, Progress
from wheelmill.web.origin import without_credentials
from wheelmill.web.pages import Link
from wheelmill.web.retries import Sleep
from wheelmill.web.side_by_side import begin

MAX_PAGES: Final = 200
MAX_FILES: Final = 50
"""How many pages and files are read where not all are."""

MAX_KEPT: Final = 3_000_000
"""Projects, files and violations that pages may have together: about 3 GB of memory."""

_UNBOUNDED: Final = 1e6
_IN_ONE_PROCESS: Final = 50
"""Pages that are read by one process, which takes a third of a second to start."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Told = TypeVar("_Told", Violation, Observation)


def check_url(
    url: str,
    *,
    projects: Sequence[ProjectName] = (),
    everything: bool = False,
    politeness: Politeness = Politeness(),  # noqa: B008 - frozen
    limits: Limits = LIMITS,
    progress: Progress = QUIET,
    sleep: Sleep = time.sleep,
) -> ConformanceReport:
    """Check the index whose project list is at a URL.

    Args:
        url: with a user and a password where the index asks for them.
        projects: whose pages are read; without any, those that the project list has, and the list itself.
        everything: whether all pages, and all bytes of all files, are read instead of a sample.
        politeness: how much is asked of the servers.
        limits: how much reading a page may take.
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
        return _Survey(fetcher=fetcher, everything=everything, limits=limits, progress=progress).run([root], projects)


def check_folder(
    directory: Path,
    *,
    projects: Sequence[ProjectName] = (),
    everything: bool = False,
    limits: Limits = LIMITS,
    progress: Progress = QUIET,
) -> ConformanceReport:
    """Check every index in a folder, as a static host would serve it.

    Args:
        directory: a site, the folder above a site and its releases, or the folder of a project list; with projects, a
            site or the folder that theirs are in.
        projects: whose pages are read; without any, those that the project lists have, and the lists themselves.
        everything: whether all pages, and all bytes of all files, are read instead of a sample.
        limits: how much reading a page may take.
        progress: told what was read.

    Raises:
        SiteError: it holds no index.
    """
    root = root_of(directory).resolve()
    places = [_projects_in(directory)] if projects else project_lists_below(directory)
    below = [path.resolve().relative_to(root).as_posix() for path in places]
    lists = [f"{ORIGIN}/{quote(path)}/" for path in below]
    with Fetcher(ORIGIN, folder=root, politeness=Politeness(rate=_UNBOUNDED)) as fetcher:
        report = _Survey(fetcher=fetcher, everything=everything, limits=limits, progress=progress).run(lists, projects)
    return replace(
        report,
        violations=tuple(map(_without_origin, report.violations)),
        observations=tuple(map(_without_origin, report.observations)),
    )


def _projects_in(directory: Path) -> Path:
    """The folder that has those of all projects."""
    return directory / "simple" if (directory / "simple").is_dir() else directory


def _without_origin(told: _Told) -> _Told:
    """Name pages by their paths in the folder."""
    url, message = (text.replace(f"{ORIGIN}/", "") for text in (told.url, told.message))
    return replace(told, url=url, message=message)


@dataclass(frozen=True, kw_only=True)
class _Page:
    """A page that is to be read."""

    url: str
    """With a slash at its end."""
    read: Callable[[Sequence[Document]], dict[str, Any]]
    """Gives a `Reading` of its forms as plain values."""


def _page_of(project: ProjectName, root: str) -> _Page:
    """The page of a project in the index whose project list has this URL."""
    return _Page(url=urljoin(root, f"{project}/"), read=partial(read_detail, project=project))


def _unread(url: str, why: str) -> Reading:
    """What is known of a page that was not read, or not to its end."""
    return Reading(violations=[READABLE.violation(url, f"the page {why}")])


@dataclass(frozen=True, kw_only=True)
class _Survey:
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
        pages: list[_Page] = []
        named = [(root, Reading(projects=projects)) for root in roots if projects]
        for root, listed in named or self._read("project lists", [_Page(url=root, read=read_list) for root in roots]):
            violations += listed.violations
            pages += (_page_of(name, root) for name in listed.projects)
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
        for file, faults in self._each("files", self._file, chosen_files):
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

    def _read(self, what: str, pages: Sequence[_Page]) -> Iterator[tuple[str, Reading]]:
        """Read pages, many in one process apart.

        Args:
            what: they are, in the plural.
            pages: to be read.

        Returns:
            The URL of each, without credentials, and what it says.
        """
        kept = 0
        for start in range(0, len(pages), _IN_ONE_PROCESS):
            batch = pages[start : start + _IN_ONE_PROCESS]
            forms = self._each(what, lambda page: self.fetcher.get_page(page.url), batch, done=start, of=len(pages))
            calls = (partial(page.read, both) for page, both in zip(batch, forms, strict=True))
            answers: Iterator[Any] = call_apart(calls, self.limits) if kept <= MAX_KEPT else repeat(None)
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

    def _slash(self, url: str) -> Iterator[Violation]:
        """What an index breaks for a URL that lacks its slash."""
        answer = self.fetcher.first_byte(url)
        if not answer.ok or not answer.final_url.endswith("/"):
            told = f"stays at {answer.final_url}" if answer.ok else answer.failure
            yield pep503.SLASH.violation(url, f"the URL without a slash {told}")

    def _file(self, listed: tuple[str, tuple[Link, str]]) -> tuple[ExaminedFile, list[Violation]]:
        """A file, and what it breaks."""
        url, (link, page) = listed
        file = examine(link, page, url, self.fetcher, every_byte=self.everything)
        return file, [violation for check in FILE_CHECKS for violation in check(file)]

    def _host(self, page: str, files: Sequence[tuple[str, object]]) -> Iterator[Observation]:
        """What the host does with a page and the first of the files. A folder has no host."""
        if page and not page.startswith(ORIGIN):
            yield from observe(self.fetcher.web, page, files[0][0] if files else None)

    def _sample(self, items: Sequence[_Item], most: int) -> Sequence[_Item]:
        """All, or as many, evenly spread and the same every time."""
        if self.everything or len(items) <= most:
            return items
        return [items[number * len(items) // most] for number in range(most)]

    def _each(
        self,
        what: str,
        work: Callable[[_Item], _Result],
        items: Sequence[_Item],
        *,
        done: int = 0,
        of: int | None = None,
    ) -> Iterator[_Result]:
        """Do the same with all items, as many at a time as there are connections. An interruption waits for none.

        Args:
            what: they are, in the plural.
            work: is done with each.
            items: of which no more results wait than there are connections.
            done: how many were before them.
            of: how many there are with those before and after them.
        """
        step = self.fetcher.politeness.connections
        for start in range(0, len(items), step):
            results = begin(work, items[start : start + step], threads=step)
            for number, result in enumerate(results, start=done + start + 1):
                self.progress.line(f"{number} of {of or len(items)} {what}")
                yield result.result()
