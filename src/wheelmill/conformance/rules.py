"""All rules and checks, and reading a page in each of its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from packaging.version import Version

from wheelmill.conformance import attributes, simple_api, wheels
from wheelmill.conformance.rule import Breach, Document, ExaminedFile, Rule, Violation, installs, rule
from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.web.json_pages import MAX_VALUES, read_project_detail, read_project_list
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, MAX_FAULTS, MAX_LINKS, Form, Link, Page, absolute, read_html

READABLE: Final = rule(
    "wheelmill.1",
    f"A page has at most {MAX_LINKS:,} links, {MAX_VALUES:,} values of JSON and {MAX_FAULTS:,} faults.",
    installs("reads its tags without building a document"),
    section="What it does",
)

_DECLARED: Final = [
    declared
    for module in (wheels, simple_api, attributes)
    for declared in vars(module).values()
    if isinstance(declared, Rule)
]
RULES: Final = (*sorted(_DECLARED, key=lambda each: Version(each.number)), READABLE)
"""By their PEPs, our own at the end."""

PageCheck = Callable[[Page], Iterator[Breach]]

LIST_CHECKS: Final[tuple[PageCheck, ...]] = (simple_api.check_list, simple_api.check_page)
DETAIL_CHECKS: Final[tuple[PageCheck, ...]] = (
    wheels.check_versions,
    simple_api.check_page,
    attributes.check_announced_metadata,
    attributes.check_attributes,
    attributes.check_provenance_url,
    attributes.check_status,
    attributes.check_variant_lists,
)
FILE_CHECKS: Final[tuple[Callable[[ExaminedFile], Iterator[Violation]], ...]] = (
    wheels.check_metadata,
    wheels.check_zip,
    simple_api.check_file,
    attributes.check_sidecar,
    attributes.check_size,
    attributes.check_provenance,
    attributes.check_variant,
)


_RULE_OF_KEY: Final[Mapping[str, Rule]] = {
    "base": simple_api.FILE,
    "yanked": simple_api.YANKED,
    "size": attributes.SIZE_RANGE,
    "upload-time": attributes.UPLOAD_TIME,
    "versions": attributes.VERSIONS,
    "provenance": attributes.URL,
    "status": attributes.TEXTS,
    "reason": attributes.TEXTS,
}
"""The rules that certain keys belong to; all others belong to PEP 691 itself."""


def _parse(  # noqa: PLR0911 - one for each kind of answer
    document: Document, missing: Rule, read_json: Callable[[bytes, str], Page]
) -> tuple[Page | None, list[Breach]]:
    """Parse one form of a page, None if it is unreadable, and list the broken rules: `missing` if there is none."""
    if not document.ok:
        return None, [(missing, f"the page {document.failure}")]
    if document.content_type in HTML_TYPES:
        if document.content.lstrip().startswith((b"{", b"[")):
            return None, [(simple_api.LABELLED, f"it is JSON, and the content type is {document.content_type}")]
        try:
            page = read_html(document.content, document.final_url)
        except UnreadableError as error:
            return None, [(READABLE, str(error))]
        faults = [(_RULE_OF_KEY.get(fault.key, simple_api.HTML5), fault.problem) for fault in page.faults]
        return page, [*faults, *simple_api.check_escapes(page, document.content)]
    if document.content_type != JSON_TYPE:
        return None, [(simple_api.CONTENT_TYPE, f"the content type is {document.content_type or 'missing'}")]
    if document.content.count(b",") > MAX_VALUES:
        return None, [(READABLE, f"the page has more than {MAX_VALUES:,} values")]
    breaches = simple_api.check_json(document)
    if any(broken == simple_api.PARSED for broken, _ in breaches):
        return None, breaches
    try:
        page = read_json(document.content, document.final_url)
    except ValueError as error:
        return None, [*breaches, (simple_api.SHAPE, f"the page: {error}")]
    breaches += [(_RULE_OF_KEY.get(fault.key, simple_api.SHAPE), fault.problem) for fault in page.faults]
    return None if page.faults else page, breaches


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Contents of a page for a check."""

    violations: Sequence[Violation] = ()
    projects: Sequence[ProjectName] = ()
    """Projects of a project list, each once."""
    files: Sequence[tuple[str, Link]] = ()
    """Absolute URLs and links of a project's page; those of the JSON first, which can have more attributes."""


def _read(
    documents: Sequence[Document],
    parse: Callable[[Document], tuple[Page | None, list[Breach]]],
    checks: Sequence[PageCheck],
    *comparisons: Callable[[Page, Page], Iterator[Breach]],
) -> tuple[dict[Form, Page], list[Violation]]:
    """Parse, check and compare the forms of a page; returns the readable forms, and the violations of all."""
    pages: dict[Form, Page] = {}
    violations: list[Violation] = []
    for document in documents:
        page, breaches = parse(document)
        if page:
            pages[page.form] = page
            breaches += (breach for check in checks for breach in check(page))
        violations += (broken.violation(document.url, message) for broken, message in breaches)
    if len(pages) == len(Form):
        breaches = [breach for compare in comparisons for breach in compare(pages[Form.HTML], pages[Form.JSON])]
        violations += (broken.violation(documents[0].url, message) for broken, message in breaches)
    return pages, violations


def read_list(documents: Sequence[Document]) -> Reading:
    """Read a project list in its forms."""
    parse = partial(_parse, missing=simple_api.ROOT, read_json=read_project_list)
    pages, violations = _read(documents, parse, LIST_CHECKS, simple_api.compare_lists)
    names = {name for page in pages.values() for link in page.links if (name := simple_api.project_of(link))}
    return Reading(violations=violations, projects=sorted(names))


def read_detail(documents: Sequence[Document], project: ProjectName) -> Reading:
    """Read a project's page in its forms."""
    parse = partial(_parse, missing=simple_api.PROJECT, read_json=read_project_detail)
    checks: list[PageCheck] = [*DETAIL_CHECKS, partial(simple_api.check_detail, project=project)]
    pages, violations = _read(documents, parse, checks, simple_api.compare_details, attributes.compare_statuses)
    files = [
        (absolute(page.base, link.url) or link.url, link)
        for page in sorted(pages.values(), key=lambda page: page.form, reverse=True)
        for link in page.links
    ]
    return Reading(violations=violations, files=files)
