"""Where an index departs from PEP 503, the simple index in HTML.

https://peps.python.org/pep-0503/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name

from wheelmill.conformance import pep503_rules as rules
from wheelmill.conformance.examined import Examined
from wheelmill.conformance.file_names import name_and_version
from wheelmill.conformance.finding import Finding
from wheelmill.conformance.hashes import is_hash
from wheelmill.conformance.html_pages import has_doctype
from wheelmill.conformance.pages import FileLink, Form, ListedProject, ProjectDetail, ProjectList
from wheelmill.conformance.urls import last_part

_LEGACY: Final = (".egg", ".exe", ".msi", ".rpm", ".tar.bz2", ".tgz", ".deb", ".dmg", ".tar.Z", ".tar")
"""What indexes listed before PEP 527, and installers pass over."""


def of_list(page: ProjectList) -> Iterator[Finding]:
    """What a project list breaks."""
    url = page.document.url
    if page.form is Form.HTML and not has_doctype(page.document.content):
        yield rules.HTML5.broken(url, "the page has no <!DOCTYPE html>")
    for entry in page.projects:
        if entry.href is not None and not _is_listed_well(entry, project_of(entry)):
            yield rules.LIST_ENTRY.broken(url, f"the link {entry.text!r} leads to {entry.href!r}")


def project_of(entry: ListedProject) -> NormalizedName | None:
    """The project that an entry of the project list means; None when it means none, as a link to a file or upwards."""
    for text in (entry.text, last_part((entry.href or "").rstrip("/"))):
        if name_and_version(text) is None:
            with suppress(InvalidName):
                return canonicalize_name(text, validate=True)
    return None


def _is_listed_well(entry: ListedProject, project: NormalizedName | None) -> bool:
    path = (entry.href or "").partition("?")[0]
    return path.endswith("/") and last_part(path.rstrip("/")) == project == canonicalize_name(entry.text)


def of_detail(page: ProjectDetail) -> Iterator[Finding]:
    """What a project's page breaks."""
    if page.form is Form.HTML:
        if not has_doctype(page.document.content):
            yield rules.HTML5.broken(page.document.url, "the page has no <!DOCTYPE html>")
        yield from _of_escapes(page)
    seen: dict[str, FileLink] = {}
    for file in page.files:
        if file.filename in seen:
            other = "the same hash" if seen[file.filename].hashes == file.hashes else "another hash"
            yield rules.TWICE.broken(page.document.url, f"{file.filename} stands here again, with {other}")
        else:
            yield from _of_link(file, page.project)
        seen[file.filename] = file


def of_file(file: Examined) -> Iterator[Finding]:
    """What a file itself breaks."""
    link = file.link
    if not file.answer.ok:
        yield rules.FILE.broken(link.url, f"{link.filename} {file.answer.told}")
    if file.digests is not None:
        for name in link.hashes.keys() & file.digests.keys():
            if link.hashes[name].lower() != file.digests[name]:
                message = f"{link.filename} has {name} {file.digests[name]}; its link says {link.hashes[name]}"
                yield rules.BYTES.broken(link.url, message)
    if file.signature is not None and not file.signature.ok:
        yield rules.SIGNATURE.broken(f"{link.url}.asc", f"the signature {file.signature.told}")


def _of_link(file: FileLink, project: str) -> Iterator[Finding]:
    yield from _of_name(file, project)
    if not file.hashes:
        yield rules.HASH.broken(file.page, f"{file.filename} has no hash")
    for name, digest in file.hashes.items():
        if not is_hash(name, digest):
            yield rules.HASH_FORM.broken(file.page, f"{file.filename} has {name}={digest}, which is no hash")
    if file.requires_python is not None:
        yield from _of_requires_python(file, file.requires_python)
    if file.signature not in (None, "true", "false"):
        yield rules.SIGNATURE.broken(file.page, f"{file.filename} has data-gpg-sig={file.signature!r}")


def _of_name(file: FileLink, project: str) -> Iterator[Finding]:
    if file.text != file.filename:
        yield rules.TEXT.broken(file.page, f"the text {file.text!r} leads to the file {file.filename!r}")
    elif (named := name_and_version(file.filename)) is None:
        if not file.filename.endswith(_LEGACY):
            message = f"{file.filename!r} is the name of neither a wheel nor a source distribution"
            yield rules.FILENAME.broken(file.page, message)
    elif named[0] != project:
        yield rules.OTHER_PROJECT.broken(file.page, f"{file.filename} is of {named[0]}, not of {project}")


def _of_requires_python(file: FileLink, value: str) -> Iterator[Finding]:
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        message = f"{file.filename} has data-requires-python={value!r}, which is no version specifier"
        yield rules.REQUIRES_PYTHON.broken(file.page, message)


def _of_escapes(page: ProjectDetail) -> Iterator[Finding]:
    """A parser gives the same value for both spellings, so the page itself is looked at."""
    source = page.document.content.decode(errors="replace")
    quoted = {
        text[1:].partition(text[0])[0] for text in source.split("data-requires-python=") if text[:1] in {"'", '"'}
    }
    for value in sorted(quoted & {file.requires_python for file in page.files}):
        if "<" in value or ">" in value:
            message = f"data-requires-python={value!r} stands there without &lt; or &gt;"
            yield rules.ESCAPES.broken(page.document.url, message)
