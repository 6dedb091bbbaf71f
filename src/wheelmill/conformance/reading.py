"""What a page says and what it breaks: read in a process apart, where it can do no harm but its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from wheelmill.conformance import pep503, pep691, pep792
from wheelmill.conformance.documents import read_pages
from wheelmill.conformance.rules import DETAIL_CHECKS, LIST_CHECKS, RULES
from wheelmill.conformance.served import Document, ProjectDetail, ProjectList
from wheelmill.conformance.violation import Violation
from wheelmill.names import ProjectName
from wheelmill.web.json_pages import read_project_detail, read_project_list
from wheelmill.web.pages import Link, absolute

_RULE_OF_NUMBER: Final = {rule.number: rule for rule in RULES}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What somebody who checks an index wants of a page."""

    violations: Sequence[Violation] = ()
    projects: Sequence[ProjectName] = ()
    """That a project list has, each once."""
    files: Sequence[tuple[str, Link]] = ()
    """Absolute URLs of what a project's page lists, and the links; those of the JSON first, which can say more."""

    def plain(self) -> dict[str, Any]:
        """As values that JSON knows."""
        violations = [(violation.rule.number, violation.url, violation.message) for violation in self.violations]
        return {"violations": violations, "projects": self.projects, "files": self.files}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Make one of what `plain` gave."""
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
    pages, violations = read_pages(documents, pep503.ROOT, read_project_list)
    forms = [ProjectList(document=document, page=page) for document, page in pages]
    violations += (violation for form in forms for check in LIST_CHECKS for violation in check(form))
    violations += pep691.compare_lists(forms)
    names = {name for form in forms for link in form.page.links if (name := pep503.project_of(link))}
    return Reading(violations=violations, projects=sorted(names)).plain()


def read_detail(documents: Sequence[Document], project: ProjectName) -> dict[str, Any]:
    """Read a project's page in its forms; returns a `Reading` as plain values."""
    pages, violations = read_pages(documents, pep503.PROJECT, read_project_detail)
    forms = [ProjectDetail(document=document, page=page, project=project) for document, page in pages]
    violations += (violation for form in forms for check in DETAIL_CHECKS for violation in check(form))
    violations += pep691.compare_details(forms)
    violations += pep792.compare_statuses(forms)
    files = [
        (absolute(page.base, link.url) or link.url, link)
        for page in sorted((page for _, page in pages), key=lambda page: page.form, reverse=True)
        for link in page.links
    ]
    return Reading(violations=violations, files=files).plain()
