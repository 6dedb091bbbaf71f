"""Rules for the simple index in JSON (PEP 691), and for JSON that every installer reads.

https://peps.python.org/pep-0691/
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.conformance.rule import Document, ProjectDetail, ProjectList, Violation, fails, installs, rule
from wheelmill.web.pages import Form, Link, Page, absolute

CONTENT_TYPE: Final = rule(
    "691.1",
    "A page has one of the three content types of the API.",
    fails("skips the page with a warning: no matching distribution"),
    fails("unsupported content type"),
    section="Content-Types",
)
SHAPE: Final = rule(
    "691.2",
    "A page in JSON has the keys of the API, with values of their types.",
    installs("in part: a file without hashes unchecked; some other types end with a traceback"),
    fails("refuses the page"),
    section="JSON Serialization",
)
NAME: Final = rule(
    "691.3", "name is the normalized name of the project.", installs("does not look at it"), section="Project Detail"
)
SAME_PROJECTS: Final = rule(
    "691.4",
    "The project list is the same in HTML and JSON.",
    installs("never reads the project list"),
    section="Version + Format Selection",
)
SAME_FILES: Final = rule(
    "691.5",
    "A project's page lists the same files with the same attributes in HTML and JSON.",
    installs("by what the JSON says"),
    section="Version + Format Selection",
)
PARSED: Final = rule(
    "691.6",
    "A page in JSON can be parsed.",
    fails("ends with a traceback"),
    fails("refuses the page; passes over other encodings and deep nesting under keys that it does not know"),
    section="JSON Serialization",
)
STRICT: Final = rule(
    "691.7",
    "A page in JSON is in UTF-8 without a byte order mark, has no NaN or Infinity, and no key of an object twice.",
    installs("reads them; of a key that stands twice the last"),
    fails("refuses the page; a key that it does not know may stand twice"),
    section="JSON Serialization",
)
NULL: Final = rule(
    "691.8",
    "A size, an upload-time, a yanked and a status that are not known are left out, and not null.",
    installs("takes null for left out"),
    fails("refuses the page"),
    section="JSON Serialization",
)
LABELLED: Final = rule(
    "691.9",
    "A page in JSON has the content type of JSON.",
    fails("finds no links in it: no matching distribution"),
    fails("finds no links in it: no versions of the project"),
    section="Content-Types",
)


def check_detail(detail: ProjectDetail) -> Iterator[Violation]:
    """Check the name on a project's page."""
    name = detail.page.name
    if name is not None and name != detail.project:
        yield NAME.violation(detail.document.url, f"name is {name!r}, not {detail.project!r}")


def compare_lists(forms: list[ProjectList]) -> Iterator[Violation]:
    """Compare the forms of a project list."""
    pages = {shown.page.form: shown.page for shown in forms}
    if len(pages) < len(Form):
        return
    html, json = ({canonicalize_name(link.text or "") for link in pages[form].links} for form in Form)
    if html != json:
        url = forms[0].document.url
        yield SAME_PROJECTS.violation(url, f"only one form lists {', '.join(sorted(html ^ json))}")


def compare_details(forms: list[ProjectDetail]) -> Iterator[Violation]:
    """Compare the forms of a project's page."""
    pages = {detail.page.form: detail.page for detail in forms}
    if len(pages) < len(Form):
        return
    json = {link.filename: link for link in pages[Form.JSON].links}
    html = {link.filename: link for link in pages[Form.HTML].links}
    url = forms[0].document.url
    for filename in sorted(html.keys() | json.keys()):
        if filename not in html or filename not in json:
            yield SAME_FILES.violation(url, f"only one form lists {filename}")
        elif names := _differences(html[filename], json[filename], pages):
            yield SAME_FILES.violation(url, f"HTML and JSON differ about {filename}: {', '.join(names)}")


def _differences(html: Link, json: Link, pages: Mapping[Form, Page]) -> list[str]:
    """Attributes of a file that differ between the forms. HTML has room for one hash only."""
    in_html, in_json = html.hashes, json.hashes
    same = {
        "url": absolute(pages[Form.HTML].base, html.url) == absolute(pages[Form.JSON].base, json.url),
        "hashes": in_html == in_json or bool(in_html and in_html.items() <= in_json.items()),
        "requires-python": html.requires_python == json.requires_python,
        "core-metadata": html.core_metadata == json.core_metadata,
        "yanked": html.yanked == json.yanked,
        "provenance": html.provenance == json.provenance,
    }
    return [name for name, agree in same.items() if not agree]


_NEVER_NULL: Final = ("size", "upload-time", "yanked")


def is_json(document: Document) -> bool:
    """True if a document is JSON, whatever its content type."""
    return document.content.lstrip()[:1] in (b"{", b"[")


def check_json(document: Document) -> list[Violation]:
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
        return [PARSED.violation(document.url, f"expected JSON: {error}")]
    encoding = json.detect_encoding(document.content)
    if encoding != "utf-8":
        noted["it begins with a byte order mark" if encoding == "utf-8-sig" else f"it is in {encoding}"] = None
    strict = [STRICT.violation(document.url, note) for note in noted]
    return strict + [NULL.violation(document.url, f"{path} is null") for path in _nulls(page)]


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
