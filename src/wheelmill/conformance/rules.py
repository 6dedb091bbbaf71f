"""All rules and checks, and reading a page in each of its forms.

A page is read in a process of its own, within limits, where it can harm nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from wheelmill.conformance import attributes, simple_html, simple_json, wheels
from wheelmill.conformance.rule import (
    Document,
    ExaminedFile,
    ProjectDetail,
    ProjectList,
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
    *vars(wheels).values(),
    *vars(simple_html).values(),
    *vars(simple_json).values(),
    *vars(attributes).values(),
]
RULES: Final = (*sorted((each for each in _DECLARED if isinstance(each, Rule)), key=lambda each: each.place), READABLE)
"""By their PEPs, our own at the end."""

LIST_CHECKS: Final[tuple[Callable[[ProjectList], Iterator[Violation]], ...]] = (
    simple_html.check_list,
    simple_html.check_page,
)
DETAIL_CHECKS: Final[tuple[Callable[[ProjectDetail], Iterator[Violation]], ...]] = (
    wheels.check_versions,
    simple_html.check_detail,
    simple_html.check_page,
    attributes.check_announced_metadata,
    simple_json.check_detail,
    attributes.check_attributes,
    attributes.check_provenance_url,
    attributes.check_status,
    attributes.check_variant_lists,
)
FILE_CHECKS: Final[tuple[Callable[[ExaminedFile], Iterator[Violation]], ...]] = (
    wheels.check_metadata,
    wheels.check_zip,
    simple_html.check_file,
    attributes.check_sidecar,
    attributes.check_size,
    attributes.check_provenance,
    attributes.check_variant,
)


_RULE_OF_KEY: Final[Mapping[str, Rule]] = {
    "base": simple_html.FILE,
    "yanked": simple_html.YANKED,
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
) -> tuple[list[tuple[Document, Page]], list[Violation]]:
    """Read a page in each of its forms; returns the readable forms, and the violations of all.

    `missing` is the rule that an absent page breaks. `read_json` takes the content and the URL of a JSON form.
    """
    pages: list[tuple[Document, Page]] = []
    violations: list[Violation] = []
    for document in documents:
        if not document.ok:
            violations.append(missing.violation(document.url, f"the page {document.failure}"))
        elif document.content_type in HTML_TYPES and simple_json.is_json(document):
            message = f"it is JSON, and the content type is {document.content_type}"
            violations.append(simple_json.LABELLED.violation(document.url, message))
        elif document.content_type in HTML_TYPES:
            page = parse_html(document.content, document.final_url, texts=True)
            violations += _violations(document, page)
            pages.append((document, page))
        elif document.content_type == JSON_TYPE:
            faults = simple_json.check_json(document)
            violations += faults
            if any(fault.rule == simple_json.PARSED for fault in faults):
                continue
            try:
                page = read_json(document.content, document.final_url)
            except ValueError as error:
                violations.append(simple_json.SHAPE.violation(document.url, f"the page: {error}"))
                continue
            violations += _violations(document, page)
            if not page.faults:
                pages.append((document, page))
        else:
            message = f"the content type is {document.content_type or 'missing'}"
            violations.append(simple_json.CONTENT_TYPE.violation(document.url, message))
    return pages, violations


def _violations(document: Document, page: Page) -> Iterator[Violation]:
    for fault in page.faults:
        other = simple_json.SHAPE if page.form is Form.JSON else simple_html.HTML5
        yield _RULE_OF_KEY.get(fault.key, other).violation(document.url, fault.problem)


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


def read_list(documents: Sequence[Document]) -> dict[str, Any]:
    """Read a project list in its forms; returns a `Reading` as plain values."""
    pages, violations = read_pages(documents, simple_html.ROOT, read_project_list)
    forms = [ProjectList(document=document, page=page) for document, page in pages]
    violations += (violation for form in forms for check in LIST_CHECKS for violation in check(form))
    violations += simple_json.compare_lists(forms)
    names = {name for form in forms for link in form.page.links if (name := simple_html.project_of(link))}
    return Reading(violations=violations, projects=sorted(names)).plain()


def read_detail(documents: Sequence[Document], project: ProjectName) -> dict[str, Any]:
    """Read a project's page in its forms; returns a `Reading` as plain values."""
    pages, violations = read_pages(documents, simple_html.PROJECT, read_project_detail)
    forms = [ProjectDetail(document=document, page=page, project=project) for document, page in pages]
    violations += (violation for form in forms for check in DETAIL_CHECKS for violation in check(form))
    violations += simple_json.compare_details(forms)
    violations += attributes.compare_statuses(forms)
    files = [
        (absolute(page.base, link.url) or link.url, link)
        for page in sorted((page for _, page in pages), key=lambda page: page.form, reverse=True)
        for link in page.links
    ]
    return Reading(violations=violations, files=files).plain()
