"""Survey of an index: its project list, its pages, and a sample of its files.

An index is at a URL, or one of those in a folder. Its pages are requested in parallel, and one process reads many. A
file is requested with everything that its link announces.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Final, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from wheelmill.conformance import simple_api, wheels
from wheelmill.conformance.fetch import ORIGIN, Fetcher, FolderTransport, Politeness, observe
from wheelmill.conformance.listed_values import is_hash
from wheelmill.conformance.rule import ConformanceReport, Document, ExaminedFile, FileContents, Observation, Violation
from wheelmill.conformance.rules import FILE_CHECKS, READABLE, RULES, Reading, read_detail, read_list
from wheelmill.errors import NetworkError, UnreadableError, UsageError, WheelmillError
from wheelmill.index.serve import is_project_list, project_lists_below, root_of
from wheelmill.names import ProjectName
from wheelmill.system.progress import QUIET, Progress, number_of
from wheelmill.web.concurrency import in_turn
from wheelmill.web.credentials import is_secure, without_credentials
from wheelmill.web.pages import SIDECAR_SUFFIX, Link
from wheelmill.web.ranges import RangeFile
from wheelmill.web.transport import Sleep
from wheelmill.wheel.archive import check_archive, open_archive, read_member
from wheelmill.wheel.metadata import metadata_in
from wheelmill.wheel.name import VARIANTS_SUFFIX
from wheelmill.wheel.variant import MAX_VARIANT_METADATA, VARIANT_FILE

MAX_HASHED: Final = 32 << 20
"""Bytes of a file up to which it is hashed; of larger ones only METADATA is read, unless all bytes are wanted."""


def examine(link: Link, page: str, url: str, fetcher: Fetcher, *, every_byte: bool) -> ExaminedFile:
    """Request a file, its METADATA, its signature and its provenance.

    `link` is its entry on the page at `page`, `url` its absolute URL; `every_byte` downloads it at any size.
    """
    answer = fetcher.first_byte(url)
    digests, inside = None, None
    if answer.ok and answer.size is not None:
        if every_byte or answer.size <= MAX_HASHED:
            digests, inside = _download(link, url, fetcher, answer.size)
        else:
            inside = _look_into(link, RangeFile(fetcher.web, answer.final_url, size=answer.size))
    return ExaminedFile(
        link=link,
        page=page,
        url=url,
        answer=answer,
        is_there_escaped=not answer.ok and _escaped(url) != url and fetcher.first_byte(_escaped(url)).ok,
        digests=digests,
        sidecar=None if link.core_metadata is None else fetcher.get(url + SIDECAR_SUFFIX),
        inside=inside,
        provenance=fetcher.get(link.provenance) if link.provenance and is_secure(link.provenance) else None,
        signature=fetcher.get(f"{url}.asc") if link.signature == "true" else None,
        variants=fetcher.get(url) if link.filename.endswith(VARIANTS_SUFFIX) else None,
    )


def _escaped(url: str) -> str:
    path, mark, query = url.partition("?")
    return f"{path.replace('+', '%2B')}{mark}{query}"


def _download(link: Link, url: str, fetcher: Fetcher, size: int) -> tuple[dict[str, str] | None, FileContents | None]:
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "file").open("w+b") as file:
        if not fetcher.download(url, file, size):
            return None, None
        digests = {}
        for name, digest in link.hashes.items():
            if is_hash(name, digest):
                file.seek(0)
                digests[name] = hashlib.file_digest(file, name).hexdigest()
        inside = _look_into(link, file)
        if inside and not inside.broken:
            file.flush()
            inside = replace(inside, refused=tuple(finding.detail for finding in check_archive(Path(file.name))))
        return digests, inside


def _look_into(link: Link, file: IO[bytes] | io.RawIOBase) -> FileContents | None:
    """Contents of a wheel; None if it is another file, or the server does not give the bytes."""
    if not link.filename.endswith(".whl"):
        return None
    try:
        with open_archive(file) as archive:
            names = frozenset(name for name in archive.namelist() if name.partition("/")[0].endswith(".dist-info"))
            folders = {name.partition("/")[0] for name in names}
            folder = next(iter(folders)) if len(folders) == 1 else None
            variant = f"{folder}/{VARIANT_FILE}"
            try:
                return FileContents(
                    dist_info=names,
                    metadata=metadata_in(archive) if f"{folder}/METADATA" in names else None,
                    variant=read_member(archive, variant, MAX_VARIANT_METADATA) if variant in names else None,
                )
            except UnreadableError as error:
                return FileContents(dist_info=names, refused=(str(error),))
    except UnreadableError as error:
        return FileContents(broken=str(error))
    except (WheelmillError, OSError):
        return None


MAX_KEPT: Final = 3_000_000
"""Projects, files and violations that pages may have together: about 3 GB of memory."""


_Page = tuple[str, Callable[[Sequence[Document]], Reading]]
"""URL of a page, with a slash at its end, and the reader of its forms."""
MAX_PAGES: Final = 200
MAX_FILES: Final = 50
"""Pages and files of a sample."""

_Item = TypeVar("_Item")
_Listed = tuple[str, tuple[Link, str]]
"""The URL of a file, its link, and the page that has it."""


@dataclass(frozen=True, kw_only=True)
class IndexSurvey:
    """Check of one index, or of several that share their files."""

    fetcher: Fetcher
    everything: bool
    """Read all pages, and all bytes of all files, instead of a sample."""
    progress: Progress

    def run(self, roots: Sequence[str], projects: Sequence[ProjectName]) -> ConformanceReport:
        """Check the indexes with project lists at `roots`, which end with a slash; `projects` limits the pages."""
        violations: list[Violation] = []
        pages: list[_Page] = []
        named = [(root, Reading(projects=projects)) for root in roots if projects]
        for root, listed in named or self._read("project lists", [(root, read_list) for root in roots]):
            violations += listed.violations
            pages += ((urljoin(root, f"{name}/"), partial(read_detail, project=name)) for name in listed.projects)
            violations += self._slash(urljoin(root, listed.projects[0])) if listed.projects else ()
        chosen_pages = self._sample(pages, MAX_PAGES)
        files: dict[str, tuple[Link, str]] = {}
        most_files, largest_page = 0, ""
        for page, detail in self._read("pages", chosen_pages):
            violations += detail.violations
            most_files, largest_page = max((most_files, largest_page), (len(detail.files), page))
            for url, link in detail.files:
                files.setdefault(url, (link, page))
        chosen_files = self._sample(sorted(files.items()), MAX_FILES)
        seen: wheels.Requirements = {}
        for file, faults in self._examine(chosen_files):
            violations += faults
            violations += wheels.compare_requirements(file, seen)
        observations: tuple[Observation, ...] = ()
        if largest_page and not largest_page.startswith(ORIGIN):  # a folder has no host
            first_file = chosen_files[0][0] if chosen_files else None
            observations = tuple(observe(self.fetcher.web, largest_page, first_file))
        order = {rule: number for number, rule in enumerate(RULES)}
        return ConformanceReport(
            violations=tuple(sorted(set(violations), key=lambda it: (order[it.rule], it.url, it.message))),
            projects=len(pages),
            pages=len(chosen_pages),
            files=len(files),
            examined=len(chosen_files),
            observations=observations,
        )

    def _read(self, what: str, pages: Sequence[_Page]) -> Iterator[tuple[str, Reading]]:
        """Request and read pages; yield the URL of each, without credentials. `what` names them in the plural."""
        kept = 0
        connections = self.fetcher.politeness.connections
        answers = in_turn(self.fetcher.get_page, [url for url, _ in pages], at_once=connections)
        for number, ((address, read), forms) in enumerate(zip(pages, answers, strict=True), start=1):
            self.progress.line(f"{number} of {len(pages)} {what}")
            url = without_credentials(address)
            if kept > MAX_KEPT:
                problem = f"the page is not read: those before it have more than {MAX_KEPT} files and faults"
                reading = Reading(violations=[READABLE.violation(url, problem)])
            else:
                reading = read(forms)
            kept += len(reading.projects) + len(reading.files) + len(reading.violations)
            yield url, reading

    def _slash(self, url: str) -> Iterator[Violation]:
        answer = self.fetcher.first_byte(url)
        if not answer.ok or not answer.final_url.endswith("/"):
            outcome = f"stays at {answer.final_url}" if answer.ok else answer.failure
            yield simple_api.SLASH.violation(url, f"the URL without a slash {outcome}")

    def _examine(self, files: Sequence[_Listed]) -> Iterator[tuple[ExaminedFile, list[Violation]]]:
        examined = in_turn(self._file, files, at_once=self.fetcher.politeness.connections)
        for number, outcome in enumerate(examined, start=1):
            self.progress.line(f"{number} of {number_of(len(files), 'file')}")
            yield outcome

    def _file(self, listed: _Listed) -> tuple[ExaminedFile, list[Violation]]:
        url, (link, page) = listed
        file = examine(link, page, url, self.fetcher, every_byte=self.everything)
        return file, [violation for check in FILE_CHECKS for violation in check(file)]

    def _sample(self, items: Sequence[_Item], most: int) -> Sequence[_Item]:
        """All items, or an evenly spread sample, the same every time."""
        if self.everything or len(items) <= most:
            return items
        return [items[number * len(items) // most] for number in range(most)]


_UNBOUNDED: Final = 1e6

_Reported = TypeVar("_Reported", Violation, Observation)


def check_url(
    url: str,
    *,
    projects: Sequence[ProjectName] = (),
    everything: bool = False,
    politeness: Politeness = Politeness(),  # noqa: B008 - frozen
    progress: Progress = QUIET,
    sleep: Sleep,
) -> ConformanceReport:
    """Check the index whose project list is at a URL, which may hold a user and a password.

    Without `projects`, it reads the list and the pages of all its projects. `everything` reads all pages, and all bytes
    of all files, instead of a sample.
    """
    if "?" in url:  # the pages of projects are below its path
        raise UsageError("index-url-invalid", "expected the URL of an index without '?'")
    root = url if url.endswith("/") else f"{url}/"
    try:
        client = Fetcher(root, politeness=politeness, sleep=sleep)
    except ValueError as error:
        raise UsageError("index-url-invalid", f"expected the URL of an index: {error}") from None
    with client as fetcher:
        if not (answer := fetcher.first_byte(root)).status:
            raise NetworkError("index-unreachable", f"{answer.url} {answer.problem}")
        return IndexSurvey(fetcher=fetcher, everything=everything, progress=progress).run([root], projects)


def check_folder(
    directory: Path, *, projects: Sequence[ProjectName] = (), everything: bool = False, progress: Progress = QUIET
) -> ConformanceReport:
    """Check every index in a folder, as a static host would serve it.

    The folder is a site, the one above a site and its releases, or that of a project list. With `projects`, it is a
    site or the folder that theirs are in. The other arguments are those of `check_url`. Raises SiteError if it holds no
    index.
    """
    root = root_of(directory).resolve()
    simple = directory / "simple"
    of_projects = simple if simple.is_dir() and not is_project_list(directory) else directory
    places = [of_projects] if projects else project_lists_below(directory)
    below = [path.resolve().relative_to(root).as_posix() for path in places]
    lists = [f"{ORIGIN}/{quote(path)}/" for path in below]
    mounts = {f"all://{urlsplit(ORIGIN).hostname}": FolderTransport(root)}
    with Fetcher(ORIGIN, mounts=mounts, politeness=Politeness(rate=_UNBOUNDED), sleep=time.sleep) as fetcher:
        report = IndexSurvey(fetcher=fetcher, everything=everything, progress=progress).run(lists, projects)
    return replace(
        report,
        violations=tuple(map(_without_origin, report.violations)),
        observations=tuple(map(_without_origin, report.observations)),
    )


def _without_origin(reported: _Reported) -> _Reported:
    url, message = (text.replace(f"{ORIGIN}/", "") for text in (reported.url, reported.message))
    return replace(reported, url=url, message=message)
