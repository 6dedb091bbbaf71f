"""Where an index departs from PEP 503, the simple index in HTML.

https://peps.python.org/pep-0503/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, canonicalize_name

from wheelmill.conformance import pep503_rules as rules
from wheelmill.conformance.pages import ExaminedFile, ProjectDetail, ProjectList
from wheelmill.conformance.values import is_hash, name_and_version
from wheelmill.conformance.violation import Violation
from wheelmill.names import ProjectName
from wheelmill.web.pages import Form, Link, last_part

_LEGACY: Final = (".egg", ".exe", ".msi", ".rpm", ".tar.bz2", ".tgz", ".deb", ".dmg", ".tar.Z", ".tar")
"""What indexes listed before PEP 527, and installers pass over."""


def check_list(shown: ProjectList) -> Iterator[Violation]:
    """What a project list breaks."""
    url, page = shown.document.url, shown.page
    if not page.has_doctype:
        yield rules.HTML5.violation(url, "the page has no <!DOCTYPE html>")
    for link in page.links:
        if not _is_listed_well(link):
            yield rules.LIST_ENTRY.violation(url, f"the link {link.text!r} leads to {link.url!r}")


def project_of(link: Link) -> ProjectName | None:
    """The project that a link of the project list means; None for another link, as one to a file or upwards."""
    for text in (link.text or "", last_part(link.url.rstrip("/"))):
        if name_and_version(text) is None:
            with suppress(InvalidName):
                return canonicalize_name(text, validate=True)
    return None


def _is_listed_well(link: Link) -> bool:
    path = link.url.partition("?")[0]
    return path.endswith("/") and last_part(path.rstrip("/")) == project_of(link) == canonicalize_name(link.text or "")


def check_detail(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    url, page = detail.document.url, detail.page
    if not page.has_doctype:
        yield rules.HTML5.violation(url, "the page has no <!DOCTYPE html>")
    if page.form is Form.HTML:
        yield from _check_escapes(detail)
    seen: dict[str, Link] = {}
    for link in page.links:
        if link.filename in seen:
            other = "the same hash" if seen[link.filename].hashes == link.hashes else "another hash"
            yield rules.TWICE.violation(url, f"{link.filename} stands here again, with {other}")
        else:
            yield from _check_link(link, url, detail.project)
        seen[link.filename] = link


def check_file(file: ExaminedFile) -> Iterator[Violation]:
    """What a file itself breaks."""
    link = file.link
    if not file.answer.ok:
        yield rules.FILE.violation(file.url, f"{link.filename} {file.answer.failure}")
    for name, digest in (file.digests or {}).items():
        if link.hashes[name].lower() != digest:
            message = f"{link.filename} has {name} {digest}; its link says {link.hashes[name]}"
            yield rules.BYTES.violation(file.url, message)
    if file.signature is not None and not file.signature.ok:
        yield rules.SIGNATURE.violation(f"{file.url}.asc", f"the signature {file.signature.failure}")


def _check_link(link: Link, url: str, project: ProjectName) -> Iterator[Violation]:
    """What a link breaks on the page of a project, which has this URL."""
    yield from _check_name(link, url, project)
    if not link.hashes:
        yield rules.HASH.violation(url, f"{link.filename} has no hash")
    for name, digest in link.hashes.items():
        if not is_hash(name, digest):
            yield rules.HASH_FORM.violation(url, f"{link.filename} has {name}={digest}, which is no hash")
    try:
        SpecifierSet(link.requires_python or "")
    except InvalidSpecifier:
        message = f"{link.filename} has data-requires-python={link.requires_python!r}, which is no version specifier"
        yield rules.REQUIRES_PYTHON.violation(url, message)
    if link.signature not in (None, "true", "false"):
        yield rules.SIGNATURE.violation(url, f"{link.filename} has data-gpg-sig={link.signature!r}")


def _check_name(link: Link, url: str, project: ProjectName) -> Iterator[Violation]:
    if link.text is not None and link.text != link.filename:
        yield rules.TEXT.violation(url, f"the text {link.text!r} leads to the file {link.filename!r}")
    elif (named := name_and_version(link.filename)) is None:
        if not link.filename.endswith(_LEGACY):
            message = f"{link.filename!r} is the name of neither a wheel nor a source distribution"
            yield rules.FILENAME.violation(url, message)
    elif named[0] != project:
        yield rules.OTHER_PROJECT.violation(url, f"{link.filename} is of {named[0]}, not of {project}")


def _check_escapes(detail: ProjectDetail) -> Iterator[Violation]:
    """A parser gives the same value for both spellings, so the page itself is looked at."""
    source = detail.document.content.decode(errors="replace")
    quoted = {
        text[1:].partition(text[0])[0] for text in source.split("data-requires-python=") if text[:1] in {"'", '"'}
    }
    for value in sorted(quoted & {link.requires_python for link in detail.page.links}):
        if "<" in value or ">" in value:
            message = f"data-requires-python={value!r} stands there without &lt; or &gt;"
            yield rules.ESCAPES.violation(detail.document.url, message)
