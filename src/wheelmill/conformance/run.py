"""Checking an index at a URL, or the indexes in a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.conformance.folder import ORIGIN, FolderTransport
from wheelmill.conformance.limits import LIMITS
from wheelmill.conformance.survey import Survey
from wheelmill.conformance.violation import ConformanceReport, Observation, Violation
from wheelmill.errors import NetworkError, UsageError
from wheelmill.index.serve import is_project_list, project_lists_below, root_of
from wheelmill.names import ProjectName
from wheelmill.system.apart import Limits
from wheelmill.system.progress import QUIET, Progress
from wheelmill.web.transport import Sleep

_UNBOUNDED: Final = 1e6

_Told = TypeVar("_Told", Violation, Observation)


def check_url(
    url: str,
    *,
    projects: Sequence[ProjectName] = (),
    everything: bool = False,
    politeness: Politeness = Politeness(),  # noqa: B008 - frozen
    limits: Limits = LIMITS,
    progress: Progress = QUIET,
    sleep: Sleep,
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
        return Survey(fetcher=fetcher, everything=everything, limits=limits, progress=progress).run([root], projects)


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
    mounts = {f"all://{urlsplit(ORIGIN).hostname}": FolderTransport(root)}
    with Fetcher(ORIGIN, mounts=mounts, politeness=Politeness(rate=_UNBOUNDED), sleep=time.sleep) as fetcher:
        report = Survey(fetcher=fetcher, everything=everything, limits=limits, progress=progress).run(lists, projects)
    return replace(
        report,
        violations=tuple(map(_without_origin, report.violations)),
        observations=tuple(map(_without_origin, report.observations)),
    )


def _projects_in(directory: Path) -> Path:
    """The folder that has those of all projects."""
    below = directory / "simple"
    return below if below.is_dir() and not is_project_list(directory) else directory


def _without_origin(told: _Told) -> _Told:
    """Name pages by their paths in the folder."""
    url, message = (text.replace(f"{ORIGIN}/", "") for text in (told.url, told.message))
    return replace(told, url=url, message=message)
