"""Rules for the simple API: in HTML (PEP 503 and 592), in JSON (PEP 691), and for its version (PEP 629).

https://peps.python.org/pep-0503/
https://peps.python.org/pep-0592/
https://peps.python.org/pep-0629/
https://peps.python.org/pep-0691/
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Final

from packaging.metadata import Metadata
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, canonicalize_name

from wheelmill.conformance.listed_values import is_hash, name_and_version
from wheelmill.conformance.rule import IGNORES, Breach, Document, ExaminedFile, Violation, fails, installs, rule
from wheelmill.names import ProjectName, read_range
from wheelmill.web.pages import Form, Link, Page, absolute, last_part

_UNREAD: Final = installs("never reads the project list")
_NOTHING: Final = fails("no matching distribution")

ROOT: Final = rule("503.1", "The root URL answers with the list of projects.", _UNREAD)
PROJECT: Final = rule(
    "503.2", "Every listed project has a page.", _NOTHING, fails("the package was not found in the package registry")
)
HTML5: Final = rule(
    "503.3", "A page is valid HTML5: it begins with <!DOCTYPE html>.", installs("has ignored it since 22.2"), IGNORES
)
LIST_ENTRY: Final = rule(
    "503.4", "A link of the project list leads to /<normalized name>/, and its text is the project's name.", _UNREAD
)
SLASH: Final = rule(
    "503.5",
    "A project's URL without its slash at the end redirects to the one with it.",
    installs("asks with the slash"),
)
TEXT: Final = rule(
    "503.6",
    "The text of a link is the file name, as the last part of its URL.",
    installs("takes the name from the URL"),
)
HASH: Final = rule(
    "503.7",
    "Every file's URL has a hash.",
    installs("without checking the bytes; --require-hashes and lock files need to download first"),
    installs("without checking the bytes; uv.lock has no hash for the file"),
)
HASH_FORM: Final = rule(
    "503.8",
    "A hash is of a function that hashlib guarantees, in hexadecimal of its length.",
    fails("the hash does not match"),
    fails("refuses a page in JSON; in HTML the hash does not match; ignores unknown functions"),
)
FILE: Final = rule("503.9", "Every link leads to a file.", fails("HTTP error 404"), fails("failed to download"))
BYTES: Final = rule(
    "503.10",
    "A file's bytes have the hash that its link gives.",
    fails("the hashes do not match"),
    fails("hash mismatch"),
)
REQUIRES_PYTHON: Final = rule(
    "503.11",
    "data-requires-python is a version specifier.",
    installs("takes the file for any Python"),
    fails("skips the file"),
)
ESCAPES: Final = rule(
    "503.12", "In data-requires-python, < and > are written &lt; and &gt;.", installs("reads it all the same")
)
TWICE: Final = rule(
    "503.13",
    "A page lists each file name once.",
    fails("takes the last link, whose hash the file does not have"),
    installs("takes the first link"),
)
OTHER_PROJECT: Final = rule(
    "503.14", "A project's page lists files of this project.", _NOTHING, fails("metadata for the wrong package")
)
FILENAME: Final = rule(
    "503.15",
    "A file is named as a wheel (PEP 427) or a source distribution (PEP 625) is.",
    _NOTHING,
    fails("no versions of the project"),
)
SIGNATURE: Final = rule(
    "503.16",
    "data-gpg-sig is true or false; where it is true there is a signature at the file's URL + .asc.",
    installs("ignores signatures"),
)
SAME_PYTHON: Final = rule(
    "503.17",
    "data-requires-python is the Requires-Python of METADATA.",
    fails("refuses the wheel where either excludes this Python"),
    fails("no solution where either excludes this Python"),
)
PLUS: Final = rule(
    "503.18",
    "In the path of a file's URL + is written %2B where the host reads + as a space, as S3 does.",
    installs("asks with %2B"),
    fails("asks with +: failed to download"),
)
NO_FILE: Final = rule(
    "503.19",
    "The page of a project that is not quarantined lists a file.",
    _NOTHING,
    fails("there are no versions of the project"),
)
YANKED: Final = rule(
    "592.1",
    "In JSON, yanked is true, false or a text that is not empty.",
    installs("takes the file for not yanked, and a number for yanked"),
    fails("takes the file for yanked; refuses a page with a number"),
    section="Project Detail, in PEP 691",
)

_LEGACY: Final = (".egg", ".exe", ".msi", ".rpm", ".tar.bz2", ".tgz", ".deb", ".dmg", ".tar.Z", ".tar")
"""Suffixes of files that indexes listed before PEP 527, and that installers pass over."""


def check_list(page: Page) -> Iterator[Breach]:
    """Check a project list (PEP 503)."""
    for link in page.links:
        if not (_is_listed_well(link) if page.form is Form.HTML else project_of(link)):  # JSON has names and no links
            yield LIST_ENTRY, f"the link {link.text!r} leads to {link.url!r}"


def project_of(link: Link) -> ProjectName | None:
    """Project of a link in the project list; None if it is another link, such as to a file or upwards."""
    for text in (link.text or "", last_part(link.url.rstrip("/"))):
        if name_and_version(text) is None:
            with suppress(InvalidName):
                return canonicalize_name(text, validate=True)
    return None


def _is_listed_well(link: Link) -> bool:
    path = link.url.partition("?")[0]
    return path.endswith("/") and last_part(path.rstrip("/")) == project_of(link) == canonicalize_name(link.text or "")


def check_detail(page: Page, project: ProjectName) -> Iterator[Breach]:
    """Check the page of the requested project (PEP 503 and 691)."""
    if page.name is not None and page.name != project:
        yield NAME, f"name is {page.name!r}, not {project!r}"
    if not page.links and page.status != "quarantined":
        yield NO_FILE, "it lists no file"
    seen: dict[str, Link] = {}
    for link in page.links:
        if link.filename in seen:
            other = "the same hash" if seen[link.filename].hashes == link.hashes else "another hash"
            yield TWICE, f"{link.filename} appears here again, with {other}"
        else:
            yield from _check_link(link, project)
        seen[link.filename] = link


def check_file(file: ExaminedFile) -> Iterator[Violation]:
    """Check a file and its signature against its link (PEP 503)."""
    link = file.link
    if file.is_there_escaped:
        yield PLUS.violation(file.url, f"{link.filename} {file.answer.failure}, and is there with %2B")
    elif not file.answer.ok:
        yield FILE.violation(file.url, f"{link.filename} {file.answer.failure}")
    if file.resolved and not _is_same_python(link.requires_python, file.resolved):
        stated, inside = link.requires_python, file.resolved.requires_python
        message = f"{link.filename} has data-requires-python={stated!r}; METADATA says {str(inside or '')!r}"
        yield SAME_PYTHON.violation(file.metadata_url, message)
    for name, digest in (file.digests or {}).items():
        if link.hashes[name].lower() != digest:
            message = f"{link.filename} has {name} {digest}; its link says {link.hashes[name]}"
            yield BYTES.violation(file.url, message)
    if file.signature is not None and not file.signature.ok:
        yield SIGNATURE.violation(f"{file.url}.asc", f"the signature {file.signature.failure}")


def _check_link(link: Link, project: ProjectName) -> Iterator[Breach]:
    if link.text is not None and link.text != link.filename:
        yield TEXT, f"the text {link.text!r} leads to the file {link.filename!r}"
    elif (named := name_and_version(link.filename)) is None:
        if not link.filename.endswith(_LEGACY):
            yield FILENAME, f"{link.filename!r} is the name of neither a wheel nor a source distribution"
    elif named[0] != project:
        yield OTHER_PROJECT, f"{link.filename} is of {named[0]}, not of {project}"
    if not link.hashes:
        yield HASH, f"{link.filename} has no hash"
    for name, digest in link.hashes.items():
        if not is_hash(name, digest):
            yield HASH_FORM, f"{link.filename} has {name}={digest}, which is not a hash"
    try:
        read_range(link.requires_python or "")
    except ValueError:
        message = f"{link.filename} has data-requires-python={link.requires_python!r}, which is not a version specifier"
        yield REQUIRES_PYTHON, message
    if link.signature not in (None, "true", "false"):
        yield SIGNATURE, f"{link.filename} has data-gpg-sig={link.signature!r}"


def _is_same_python(stated: str | None, metadata: Metadata) -> bool:
    try:
        return not stated or read_range(stated) == (metadata.requires_python or SpecifierSet())
    except ValueError:  # REQUIRES_PYTHON reports it
        return True


def check_escapes(page: Page, content: bytes) -> Iterator[Breach]:
    """Check the source of a page in HTML, because a parser gives the same value for both spellings."""
    html = content.decode(errors="replace")
    quoted = {text[1:].partition(text[0])[0] for text in html.split("data-requires-python=") if text[:1] in {"'", '"'}}
    for value in sorted(quoted & {link.requires_python for link in page.links}):
        if "<" in value or ">" in value:
            yield ESCAPES, f"data-requires-python={value!r} is written without &lt; or &gt;"


MISSING: Final = rule("629.1", "Every page gives the version of the API.", IGNORES, section="Overview")
FORM: Final = rule("629.2", "The version of the API is two numbers, Major.Minor.", IGNORES, section="Overview")
MAJOR: Final = rule("629.3", "The major version of the API is 1.", IGNORES, section="Clients")


def check_page(page: Page) -> Iterator[Breach]:
    """Check the doctype and the API version of any page (PEP 503 and 629)."""
    stated = page.version
    if not page.has_doctype:
        yield HTML5, "the page has no <!DOCTYPE html>"
    if stated is None:
        yield MISSING, "the page has no pypi:repository-version"
        return
    numbers = stated.split(".")
    if len(numbers) != 2 or not all(n.isascii() and n.isdigit() for n in numbers):  # noqa: PLR2004 - major and minor
        yield FORM, f"the version is {stated!r}"
    elif numbers[0] != "1":
        yield MAJOR, f"the version is {stated}; clients know 1"


CONTENT_TYPE: Final = rule(
    "691.1",
    "A page has one of the three content types of the API.",
    fails("skips the page with a warning: no matching distribution"),
    fails("unsupported content type"),
    section="Content-Types",
)
_json_rule = partial(rule, section="JSON Serialization")
SHAPE: Final = _json_rule(
    "691.2",
    "A page in JSON has the keys of the API, with values of their types.",
    installs("in part: a file without hashes unchecked; some other types end with a traceback"),
    fails("refuses the page"),
)
NAME: Final = rule("691.3", "name is the normalized name of the project.", IGNORES, section="Project Detail")
SAME_PROJECTS: Final = rule(
    "691.4", "The project list is the same in HTML and JSON.", _UNREAD, section="Version + Format Selection"
)
SAME_FILES: Final = rule(
    "691.5",
    "A project's page lists the same files with the same attributes in HTML and JSON.",
    installs("by what the JSON says"),
    section="Version + Format Selection",
)
PARSED: Final = _json_rule(
    "691.6",
    "A page in JSON can be parsed.",
    fails("ends with a traceback"),
    fails("refuses the page; accepts other encodings, and deep nesting under unknown keys"),
)
STRICT: Final = _json_rule(
    "691.7",
    "A page in JSON is in UTF-8 without a byte order mark, has no NaN or Infinity, and no key of an object twice.",
    installs("reads them; takes the last of two equal keys"),
    fails("refuses the page; accepts an unknown key twice"),
)
NULL: Final = _json_rule(
    "691.8",
    "An unknown size, upload-time, yanked or status is left out, not null.",
    installs("takes null for left out"),
    fails("refuses the page"),
)
LABELLED: Final = rule(
    "691.9",
    "A page in JSON has the content type of JSON.",
    fails("finds no links in it: no matching distribution"),
    fails("finds no links in it: no versions of the project"),
    section="Content-Types",
)


def compare_lists(html: Page, json: Page) -> Iterator[Breach]:
    """Compare the forms of a project list."""
    in_html, in_json = ({canonicalize_name(link.text or "") for link in page.links} for page in (html, json))
    if projects := in_html ^ in_json:
        yield SAME_PROJECTS, f"only one form lists {', '.join(sorted(projects))}"


def compare_details(html: Page, json: Page) -> Iterator[Breach]:
    """Compare the forms of a project's page."""
    in_html, in_json = ({link.filename: link for link in page.links} for page in (html, json))
    for filename in sorted(in_html.keys() | in_json.keys()):
        if filename not in in_html or filename not in in_json:
            yield SAME_FILES, f"only one form lists {filename}"
            continue
        one, other = in_html[filename], in_json[filename]
        hashes = one.hashes  # HTML has room for one only
        same = {
            "url": absolute(html.base, one.url) == absolute(json.base, other.url),
            "hashes": hashes == other.hashes or bool(hashes and hashes.items() <= other.hashes.items()),
            "requires-python": one.requires_python == other.requires_python,
            "core-metadata": one.core_metadata == other.core_metadata,
            "yanked": one.yanked == other.yanked,
            "provenance": one.provenance == other.provenance,
        }
        if names := [name for name, agree in same.items() if not agree]:
            yield SAME_FILES, f"HTML and JSON differ about {filename}: {', '.join(names)}"


_NEVER_NULL: Final = ("size", "upload-time", "yanked")


def check_json(document: Document) -> list[Breach]:
    """Check a page in JSON before its contents are interpreted."""
    noted: dict[str, None] = {}

    def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
        content = dict(pairs)
        if len(content) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            noted.update((f"the key {key!r} appears twice", None) for key, count in counts.items() if count > 1)
        return content

    def constant(name: str) -> None:
        noted[f"{name} is not a number in JSON"] = None

    try:
        page = json.loads(document.content, parse_int=str, parse_constant=constant, object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        return [(PARSED, f"expected JSON: {error}")]
    encoding = json.detect_encoding(document.content)
    if encoding != "utf-8":
        noted["it begins with a byte order mark" if encoding == "utf-8-sig" else f"it is in {encoding}"] = None
    strict = [(STRICT, note) for note in noted]
    return strict + [(NULL, f"{path} is null") for path in _nulls(page)]


def _nulls(page: object) -> Iterator[str]:
    """Keys with a forbidden null in a page. Other rules check values of other types."""
    if not isinstance(page, dict):
        return
    status = page.get("project-status", {})
    if status is None or (isinstance(status, dict) and status.get("status", "") is None):
        yield "project-status" if status is None else "project-status.status"
    files = page.get("files")
    for number, file in enumerate(files if isinstance(files, list) else ()):
        if isinstance(file, dict):
            yield from (f"files.{number}.{key}" for key in _NEVER_NULL if file.get(key, "") is None)
