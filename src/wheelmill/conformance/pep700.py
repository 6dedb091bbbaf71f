"""PEP 700: size, upload time and versions.

https://peps.python.org/pep-0700/

HTML has no standard attributes for them; uv reads ``data-size`` and ``data-upload-time`` there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

from packaging.version import Version

from wheelmill.conformance.served import ExaminedFile, ProjectDetail
from wheelmill.conformance.values import name_and_version
from wheelmill.conformance.violation import Violation, fails, installs, rule
from wheelmill.web.pages import Form, Page

VERSIONS: Final = rule(
    "700.1",
    "From API version 1.1 on, versions lists every version that has files, each once.",
    installs("reads versions from the file names"),
    section="Versions",
)
SIZE: Final = rule(
    "700.2",
    "From API version 1.1 on, every file has its size in bytes.",
    installs("does not look at it"),
    section="Additional file information",
)
SAME_SIZE: Final = rule(
    "700.3",
    "The size is the one of the file that is served.",
    installs("does not look at it"),
    section="Additional file information",
)
UPLOAD_TIME: Final = rule(
    "700.4",
    "upload-time has the form yyyy-mm-ddThh:mm:ss.ffffffZ, the fraction optional.",
    fails("ends with a traceback; in HTML it does not look at it; takes other zones and none"),
    fails("refuses a page in JSON; takes other zones and the year 0"),
    section="Additional file information",
)
SIZE_RANGE: Final = rule(
    "700.5",
    "A size is a whole number of at most 18 digits, without a sign.",
    installs("does not look at it"),
    fails("refuses a page in JSON from 2**64 on, below 0 and for what is no whole number"),
    section="Additional file information",
)

_FORMS: Final = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ")


def check_attributes(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    url, page = detail.document.url, detail.page
    needs_all = page.form is Form.JSON and page.version != "1.0"
    if needs_all:
        yield from _check_versions(page, url)
    for link in page.links:
        if link.size is None and needs_all:
            yield SIZE.violation(url, f"{link.filename} has no size")
        elif link.size is not None and link.size < 0:
            yield SIZE_RANGE.violation(url, f"{link.filename} has the size {link.size}")
        if link.upload_time is not None and not _is_time(link.upload_time):
            yield UPLOAD_TIME.violation(url, f"{link.filename} has the upload time {link.upload_time!r}")


def check_size(file: ExaminedFile) -> Iterator[Violation]:
    """What a file breaks."""
    link, size = file.link, file.answer.size
    if file.answer.ok and link.size is not None and link.size >= 0 and size is not None and link.size != size:
        yield SAME_SIZE.violation(file.url, f"{link.filename} has {size} bytes; {file.page} says {link.size}")


def _check_versions(page: Page, url: str) -> Iterator[Violation]:
    if page.versions is None:
        yield VERSIONS.violation(url, "there is no key versions")
        return
    listed = [_version(text) for text in page.versions]
    if len(set(listed)) < len(listed):
        yield VERSIONS.violation(url, "versions lists a version twice")
    files = {named[1] for link in page.links if (named := name_and_version(link.filename))}
    if missing := sorted(files - set(listed)):
        yield VERSIONS.violation(url, f"versions lacks {', '.join(map(str, missing))}")


def _version(text: str) -> Version | str:
    try:
        return Version(text)
    except ValueError:
        return text


def _is_time(text: str) -> bool:
    for form in _FORMS:
        try:
            dt.datetime.strptime(text, form)  # noqa: DTZ007 - Z is part of the form
        except ValueError:
            continue
        return True
    return False
