"""Checking what a person named: a URL, or a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.conformance.folder import ORIGIN
from wheelmill.conformance.survey import Survey
from wheelmill.conformance.violation import ConformanceReport, Violation
from wheelmill.errors import NetworkError, UsageError
from wheelmill.index.serve import project_lists_below, root_of
from wheelmill.system.progress import Progress
from wheelmill.web.retries import Sleep

_UNBOUNDED: Final = 1e6


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
        return _survey(fetcher, [root], politeness, everything=everything, progress=progress)


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
    politeness = Politeness(rate=_UNBOUNDED)
    with Fetcher(ORIGIN, folder=root, politeness=politeness) as fetcher:
        report = _survey(fetcher, lists, politeness, everything=everything, progress=progress)
    return replace(report, violations=tuple(_without_origin(violation) for violation in report.violations))


def _without_origin(violation: Violation) -> Violation:
    """Name pages by their paths in the folder."""
    url, message = (text.replace(f"{ORIGIN}/", "") for text in (violation.url, violation.message))
    return replace(violation, url=url, message=message)


def _survey(
    fetcher: Fetcher, roots: Sequence[str], politeness: Politeness, *, everything: bool, progress: Progress | None
) -> ConformanceReport:
    survey = Survey(
        fetcher=fetcher,
        connections=politeness.connections,
        everything=everything,
        progress=progress or Progress(),
    )
    return survey.run(roots)
