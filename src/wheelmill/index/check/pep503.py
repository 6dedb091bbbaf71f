"""PEP 503: the simple index in HTML.

https://peps.python.org/pep-0503/
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidName,
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from wheelmill.index.check.examined import Examined
from wheelmill.index.check.html_pages import has_doctype
from wheelmill.index.check.pages import FileLink, Form, ListedProject, ProjectDetail, ProjectList
from wheelmill.index.check.records import Finding, Rule, fails, installs
from wheelmill.index.check.urls import last_part

_UNREAD: Final = installs("never reads the project list")
_NOTHING: Final = fails("no matching distribution")

ROOT: Final = Rule(
    number="503.1",
    says="The root URL answers with the list of projects.",
    section="Specification",
    pip=_UNREAD,
    uv=_UNREAD,
)
PROJECT: Final = Rule(
    number="503.2",
    says="Every listed project has a page.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("the package was not found in the package registry"),
)
HTML5: Final = Rule(
    number="503.3",
    says="A page is valid HTML5: it begins with <!DOCTYPE html>.",
    section="Specification",
    pip=installs("does not look at it since 22.2"),
    uv=installs("does not look at it"),
)
LIST_ENTRY: Final = Rule(
    number="503.4",
    says="A link of the project list leads to /<normalized name>/, and its text is the project's name.",
    section="Specification",
    pip=_UNREAD,
    uv=_UNREAD,
)
SLASH: Final = Rule(
    number="503.5",
    says="A project's URL without its slash at the end redirects to the one with it.",
    section="Specification",
    pip=installs("asks with the slash"),
    uv=installs("asks with the slash"),
)
TEXT: Final = Rule(
    number="503.6",
    says="The text of a link is the file name, as the last part of its URL.",
    section="Specification",
    pip=installs("takes the name from the URL"),
    uv=installs("takes the name from the URL"),
)
HASH: Final = Rule(
    number="503.7",
    says="Every file's URL has a hash.",
    section="Specification",
    pip=installs("without checking the bytes; --require-hashes and lock files need to download first"),
    uv=installs("without checking the bytes; uv.lock has no hash for the file"),
)
HASH_FORM: Final = Rule(
    number="503.8",
    says="A hash is of a function that hashlib guarantees, in hexadecimal of its length.",
    section="Specification",
    pip=fails("the hash does not match"),
    uv=fails("refuses a page in JSON; in HTML the hash does not match"),
)
FILE: Final = Rule(
    number="503.9",
    says="Every link leads to a file.",
    section="Specification",
    pip=fails("HTTP error 404"),
    uv=fails("failed to download"),
)
BYTES: Final = Rule(
    number="503.10",
    says="A file's bytes have the hash that its link gives.",
    section="Specification",
    pip=fails("the hashes do not match"),
    uv=fails("hash mismatch"),
)
REQUIRES_PYTHON: Final = Rule(
    number="503.11",
    says="data-requires-python is a version specifier.",
    section="Specification",
    pip=installs("takes the file for any Python"),
    uv=fails("skips the file"),
)
ESCAPES: Final = Rule(
    number="503.12",
    says="In data-requires-python, < and > are written &lt; and &gt;.",
    section="Specification",
    pip=installs("reads it all the same"),
    uv=installs("reads it all the same"),
)
TWICE: Final = Rule(
    number="503.13",
    says="A file name stands on a page once.",
    section="Specification",
    pip=fails("takes the last link, whose hash the file does not have"),
    uv=installs("takes the first link"),
)
OTHER_PROJECT: Final = Rule(
    number="503.14",
    says="A project's page lists files of this project.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("metadata for the wrong package"),
)
FILENAME: Final = Rule(
    number="503.15",
    says="A file is named as a wheel (PEP 427) or a source distribution (PEP 625) is.",
    section="Specification",
    pip=_NOTHING,
    uv=fails("no versions of the project"),
)
SIGNATURE: Final = Rule(
    number="503.16",
    says="data-gpg-sig is true or false; where it is true there is a signature at the file's URL + .asc.",
    section="Specification",
    pip=installs("does not look at signatures"),
    uv=installs("does not look at signatures"),
)

RULES: Final = (
    ROOT,
    PROJECT,
    HTML5,
    LIST_ENTRY,
    SLASH,
    TEXT,
    HASH,
    HASH_FORM,
    FILE,
    BYTES,
    REQUIRES_PYTHON,
    ESCAPES,
    TWICE,
    OTHER_PROJECT,
    FILENAME,
    SIGNATURE,
)

_LEGACY: Final = (".egg", ".exe", ".msi", ".rpm", ".tar.bz2", ".tgz", ".deb", ".dmg", ".tar.Z", ".tar")
"""What indexes listed before PEP 527, and installers pass over."""


def of_list(page: ProjectList) -> Iterator[Finding]:
    """What a project list breaks."""
    url = page.document.url
    if page.form is Form.HTML and not has_doctype(page.document.content):
        yield Finding(rule=HTML5, url=url, message="the page has no <!DOCTYPE html>")
    for entry in page.projects:
        if entry.href is not None and not _is_listed_well(entry, project_of(entry)):
            yield Finding(rule=LIST_ENTRY, url=url, message=f"the link {entry.text!r} leads to {entry.href!r}")


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
            yield Finding(rule=HTML5, url=page.document.url, message="the page has no <!DOCTYPE html>")
        yield from _of_escapes(page)
    seen: dict[str, FileLink] = {}
    for file in page.files:
        if file.filename in seen:
            other = "the same hash" if seen[file.filename].hashes == file.hashes else "another hash"
            yield Finding(rule=TWICE, url=page.document.url, message=f"{file.filename} stands here again, with {other}")
        else:
            yield from _of_link(file, page.project)
        seen[file.filename] = file


def of_file(file: Examined) -> Iterator[Finding]:
    """What a file itself breaks."""
    link = file.link
    if not file.answer.ok:
        yield Finding(rule=FILE, url=link.url, message=f"{link.filename} {file.answer.told}")
    if file.digests is not None:
        for name in link.hashes.keys() & file.digests.keys():
            if link.hashes[name].lower() != file.digests[name]:
                message = f"{link.filename} has {name} {file.digests[name]}; its link says {link.hashes[name]}"
                yield Finding(rule=BYTES, url=link.url, message=message)
    if file.signature is not None and not file.signature.ok:
        yield Finding(rule=SIGNATURE, url=f"{link.url}.asc", message=f"the signature {file.signature.told}")


def parsed(filename: str) -> tuple[NormalizedName, Version, *tuple[object, ...]] | None:
    """Read the name of a wheel or a source distribution; None when it is neither."""
    try:
        return parse_wheel_filename(filename) if filename.endswith(".whl") else parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def name_and_version(filename: str) -> tuple[NormalizedName, Version] | None:
    """The project and the version of a wheel or a source distribution; None for what is neither."""
    return (whole[0], whole[1]) if (whole := parsed(filename)) else None


def _of_link(file: FileLink, project: str) -> Iterator[Finding]:
    yield from _of_name(file, project)
    if not file.hashes:
        yield Finding(rule=HASH, url=file.page, message=f"{file.filename} has no hash")
    for name, digest in file.hashes.items():
        if not is_hash(name, digest):
            message = f"{file.filename} has {name}={digest}, which is no hash"
            yield Finding(rule=HASH_FORM, url=file.page, message=message)
    if file.requires_python is not None:
        yield from _of_requires_python(file, file.requires_python)
    if file.signature not in (None, "true", "false"):
        message = f"{file.filename} has data-gpg-sig={file.signature!r}"
        yield Finding(rule=SIGNATURE, url=file.page, message=message)


def _of_name(file: FileLink, project: str) -> Iterator[Finding]:
    if file.text != file.filename:
        message = f"the text {file.text!r} leads to the file {file.filename!r}"
        yield Finding(rule=TEXT, url=file.page, message=message)
    elif (named := name_and_version(file.filename)) is None:
        if not file.filename.endswith(_LEGACY):
            message = f"{file.filename!r} is the name of neither a wheel nor a source distribution"
            yield Finding(rule=FILENAME, url=file.page, message=message)
    elif named[0] != project:
        message = f"{file.filename} is of {named[0]}, not of {project}"
        yield Finding(rule=OTHER_PROJECT, url=file.page, message=message)


def _of_requires_python(file: FileLink, value: str) -> Iterator[Finding]:
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        message = f"{file.filename} has data-requires-python={value!r}, which is no version specifier"
        yield Finding(rule=REQUIRES_PYTHON, url=file.page, message=message)


def _of_escapes(page: ProjectDetail) -> Iterator[Finding]:
    """A parser gives the same value for both spellings, so the page itself is looked at."""
    source = page.document.content.decode(errors="replace")
    for value in sorted({file.requires_python for file in page.files if file.requires_python}):
        if set(value) & set("<>") and any(f"={quote}{value}{quote}" in source for quote in "\"'"):
            message = f"data-requires-python={value!r} stands there without &lt; or &gt;"
            yield Finding(rule=ESCAPES, url=page.document.url, message=message)


def is_hash(name: str, digest: str) -> bool:
    """Whether this is a hash that every installer can compute, in its hexadecimal form."""
    if name not in hashlib.algorithms_guaranteed or name.startswith("shake_"):
        return False
    size = 2 * hashlib.new(name, usedforsecurity=False).digest_size
    return len(digest) == size and set(digest.lower()) <= set("0123456789abcdef")
