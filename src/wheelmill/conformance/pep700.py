"""PEP 700: size, upload time and versions.

https://peps.python.org/pep-0700/

HTML has no standard attributes for them; uv reads ``data-size`` and ``data-upload-time`` there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

from packaging.version import Version

from wheelmill.conformance.examined import Examined
from wheelmill.conformance.file_names import name_and_version
from wheelmill.conformance.finding import Finding, Rule, fails, installs
from wheelmill.conformance.pages import FileLink, Form, ProjectDetail

VERSIONS: Final = Rule(
    number="700.1",
    says="From API version 1.1 on, versions lists every version that has files, each once.",
    section="Versions",
    pip=installs("reads versions from the file names"),
    uv=installs("reads versions from the file names"),
)
SIZE: Final = Rule(
    number="700.2",
    says="From API version 1.1 on, every file has its size in bytes.",
    section="Additional file information",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)
SAME_SIZE: Final = Rule(
    number="700.3",
    says="The size is the one of the file that is served.",
    section="Additional file information",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)
UPLOAD_TIME: Final = Rule(
    number="700.4",
    says="upload-time has the form yyyy-mm-ddThh:mm:ss.ffffffZ, the fraction optional.",
    section="Additional file information",
    pip=fails("ends with a traceback; in HTML it does not look at it"),
    uv=fails("refuses a page in JSON"),
)

RULES: Final = (VERSIONS, SIZE, SAME_SIZE, UPLOAD_TIME)

_FORMS: Final = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ")


def of_detail(page: ProjectDetail) -> Iterator[Finding]:
    """What a project's page breaks."""
    if page.form is Form.JSON and page.repository_version != "1.0":
        yield from _of_versions(page)
    for file in page.files:
        yield from _of_link(file, page)


def of_file(file: Examined) -> Iterator[Finding]:
    """What a file breaks."""
    link, size = file.link, file.answer.size
    if file.answer.ok and link.size is not None and size is not None and link.size != str(size):
        yield SAME_SIZE.broken(link.url, f"{link.filename} has {size} bytes; {link.page} says {link.size}")


def _of_versions(page: ProjectDetail) -> Iterator[Finding]:
    url = page.document.url
    if page.versions is None:
        yield VERSIONS.broken(url, "there is no key versions")
        return
    listed = [_version(text) for text in page.versions]
    if len(set(listed)) < len(listed):
        yield VERSIONS.broken(url, "a version stands in versions twice")
    files = {named[1] for file in page.files if (named := name_and_version(file.filename))}
    if missing := sorted(files - set(listed)):
        yield VERSIONS.broken(url, f"versions lacks {', '.join(map(str, missing))}")


def _version(text: str) -> Version | str:
    try:
        return Version(text)
    except ValueError:
        return text


def _of_link(file: FileLink, page: ProjectDetail) -> Iterator[Finding]:
    if file.size is None:
        if page.form is Form.JSON and page.repository_version != "1.0":
            yield SIZE.broken(file.page, f"{file.filename} has no size")
    elif not (file.size.isascii() and file.size.isdigit()):
        yield SIZE.broken(file.page, f"{file.filename} has the size {file.size!r}")
    if file.upload_time is not None and not _is_time(file.upload_time):
        yield UPLOAD_TIME.broken(file.page, f"{file.filename} has the upload time {file.upload_time!r}")


def _is_time(text: str) -> bool:
    for form in _FORMS:
        try:
            dt.datetime.strptime(text, form)  # noqa: DTZ007 - Z is part of the form
        except ValueError:
            continue
        return True
    return False
