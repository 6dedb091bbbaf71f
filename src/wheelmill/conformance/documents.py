"""Asking for a page in each of its forms, and reading them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from wheelmill.conformance import html_pages, json_pages, pep503_rules, pep691
from wheelmill.conformance.fetch import MAX_PAGE, Fetcher
from wheelmill.conformance.finding import Finding, Rule
from wheelmill.conformance.pages import Document, ProjectDetail, ProjectList
from wheelmill.index.tree import JSON_TYPE
from wheelmill.names import ProjectName

_Page = TypeVar("_Page", ProjectList, ProjectDetail)

_ACCEPT_HTML: Final = ", ".join(pep691.HTML_TYPES)
_NOT_ACCEPTABLE: Final = 406


def project_lists(fetcher: Fetcher, url: str) -> tuple[list[ProjectList], list[Finding]]:
    """The forms of a root page, and what kept others from being read."""
    return _pages(
        _documents(fetcher, url), pep503_rules.ROOT, html_pages.read_project_list, json_pages.read_project_list
    )


def project_details(fetcher: Fetcher, url: str, project: ProjectName) -> tuple[list[ProjectDetail], list[Finding]]:
    """The forms of a project's page, and what kept others from being read."""
    return _pages(
        _documents(fetcher, url),
        pep503_rules.PROJECT,
        lambda document: html_pages.read_project_detail(document, project),
        lambda document: json_pages.read_project_detail(document, project),
    )


def _documents(fetcher: Fetcher, url: str) -> list[Document]:
    """A page in each form that the index has. An index need not have both, nor choose by the request."""
    first = fetcher.get(url, accept=JSON_TYPE, limit=MAX_PAGE)
    if first.ok and first.content_type in pep691.HTML_TYPES:
        return [first]
    second = fetcher.get(url, accept=_ACCEPT_HTML, limit=MAX_PAGE)
    if (first.status, first.content_type) == (second.status, second.content_type):
        return [first]
    return [document for document in (first, second) if document.status != _NOT_ACCEPTABLE] or [first]


def _pages(
    documents: list[Document],
    missing: Rule,
    read_html: Callable[[Document], _Page],
    read_json: Callable[[Document], tuple[_Page | None, list[Finding]]],
) -> tuple[list[_Page], list[Finding]]:
    pages: list[_Page] = []
    findings: list[Finding] = []
    for document in documents:
        if not document.ok:
            findings.append(missing.broken(document.url, f"the page {document.told}"))
        elif document.content_type == JSON_TYPE:
            page, faults = read_json(document)
            findings += faults
            pages += [page] if page else []
        elif document.content_type in pep691.HTML_TYPES:
            pages.append(read_html(document))
        else:
            message = f"the content type is {document.content_type or 'missing'}"
            findings.append(pep691.CONTENT_TYPE.broken(document.url, message))
    return pages, findings
