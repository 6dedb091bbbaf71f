"""All rules and checks, and reading a page in each of its forms.

A page is read in a process of its own, within limits, where it can harm nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from packaging.version import Version

from wheelmill.conformance import attributes, simple_api, wheels
from wheelmill.conformance.rule import (
    Document,
    ExaminedFile,
    ParsedPage,
    ProjectDetail,
    Rule,
    Severity,
    Violation,
    installs,
    rule,
)
from wheelmill.names import ProjectName
from wheelmill.system.isolated_call import CallLimits
from wheelmill.web.json_pages import read_project_detail, read_project_list
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Form, Link, Page, absolute, parse_html

LIMITS: Final = CallLimits()
"""Limits of reading one page in its forms. A list of 700,000 projects takes a sixth of the time and half of the
memory."""

READABLE: Final = rule(
    "wheelmill.1",
    "A page is read within 30 s of CPU time and 2048 MiB of memory.",
    installs("goes through its tags and builds no document"),
    otherwise=Severity.ERROR,
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

LIST_CHECKS: Final[tuple[Callable[[ParsedPage], Iterator[Violation]], ...]] = (
    simple_api.check_list,
    simple_api.check_page,
)
DETAIL_CHECKS: Final[tuple[Callable[[ProjectDetail], Iterator[Violation]], ...]] = (
    wheels.check_versions,
    simple_api.check_detail,
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


def read_pages(
    documents: Sequence[Document], missing: Rule, read_json: Callable[[bytes, str], Page]
) -> tuple[list[ParsedPage], list[Violation]]:
    """Read a page in each of its forms; returns the readable forms, and the violations of all.

    `missing` is the rule that an absent page breaks. `read_json` takes the content and the URL of a JSON form.
    """
    pages: list[ParsedPage] = []
    violations: list[Violation] = []
    for document in documents:
        if not document.ok:
            violations.append(missing.violation(document.url, f"the page {document.failure}"))
        elif document.content_type in HTML_TYPES and simple_api.is_json(document):
            message = f"it is JSON, and the content type is {document.content_type}"
            violations.append(simple_api.LABELLED.violation(document.url, message))
        elif document.content_type in HTML_TYPES:
            parsed = ParsedPage(document=document, page=parse_html(document.content, document.final_url, texts=True))
            violations += _violations(parsed)
            pages.append(parsed)
        elif document.content_type == JSON_TYPE:
            faults = simple_api.check_json(document)
            violations += faults
            if any(fault.rule == simple_api.PARSED for fault in faults):
                continue
            try:
                parsed = ParsedPage(document=document, page=read_json(document.content, document.final_url))
            except ValueError as error:
                violations.append(simple_api.SHAPE.violation(document.url, f"the page: {error}"))
                continue
            violations += _violations(parsed)
            if not parsed.page.faults:
                pages.append(parsed)
        else:
            message = f"the content type is {document.content_type or 'missing'}"
            violations.append(simple_api.CONTENT_TYPE.violation(document.url, message))
    return pages, violations


def _violations(parsed: ParsedPage) -> Iterator[Violation]:
    other = simple_api.SHAPE if parsed.page.form is Form.JSON else simple_api.HTML5
    for fault in parsed.page.faults:
        yield _RULE_OF_KEY.get(fault.key, other).violation(parsed.document.url, fault.problem)


_RULE_OF_NUMBER: Final = {rule.number: rule for rule in RULES}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Contents of a page for a check."""

    violations: Sequence[Violation] = ()
    projects: Sequence[ProjectName] = ()
    """Projects of a project list, each once."""
    files: Sequence[tuple[str, Link]] = ()
    """Absolute URLs of what a project's page lists, and the links; those of the JSON first, which can say more."""

    def plain(self) -> dict[str, Any]:
        """Convert to values that JSON can hold."""
        violations = [(violation.rule.number, violation.url, violation.message) for violation in self.violations]
        return {"violations": violations, "projects": self.projects, "files": self.files}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Restore from the values of `plain`."""
        return cls(
            violations=[
                Violation(rule=_RULE_OF_NUMBER[number], url=url, message=message)
                for number, url, message in plain["violations"]
            ],
            projects=plain["projects"],
            files=[(url, Link(*link)) for url, link in plain["files"]],
        )


def _compare(
    forms: Iterable[ParsedPage], *checks: Callable[[ParsedPage, ParsedPage], Iterator[Violation]]
) -> Iterator[Violation]:
    """Compare the HTML and the JSON of a page that has both."""
    pages = {form.page.form: form for form in forms}
    if len(pages) == len(Form):
        for check in checks:
            yield from check(pages[Form.HTML], pages[Form.JSON])


def read_list(documents: Sequence[Document]) -> dict[str, Any]:
    """Read a project list in its forms; returns a `Reading` as plain values."""
    forms, violations = read_pages(documents, simple_api.ROOT, read_project_list)
    violations += (violation for form in forms for check in LIST_CHECKS for violation in check(form))
    violations += _compare(forms, simple_api.compare_lists)
    names = {name for form in forms for link in form.page.links if (name := simple_api.project_of(link))}
    return Reading(violations=violations, projects=sorted(names)).plain()


def read_detail(documents: Sequence[Document], project: ProjectName) -> dict[str, Any]:
    """Read a project's page in its forms; returns a `Reading` as plain values."""
    pages, violations = read_pages(documents, simple_api.PROJECT, read_project_detail)
    forms = [ProjectDetail(document=it.document, page=it.page, project=project) for it in pages]
    violations += (violation for form in forms for check in DETAIL_CHECKS for violation in check(form))
    violations += _compare(forms, simple_api.compare_details, attributes.compare_statuses)
    files = [
        (absolute(page.base, link.url) or link.url, link)
        for page in sorted((form.page for form in forms), key=lambda page: page.form, reverse=True)
        for link in page.links
    ]
    return Reading(violations=violations, files=files).plain()
