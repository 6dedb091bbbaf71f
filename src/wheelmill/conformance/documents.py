"""Reading a page in each of its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from wheelmill.conformance import json_text, pep503, pep691, pep700, pep740, pep792
from wheelmill.conformance.served import Document
from wheelmill.conformance.violation import Rule, Violation
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Form, Page, parse_html

_RULE_OF_KEY: Final[Mapping[str, Rule]] = {
    "base": pep503.FILE,
    "yanked": pep503.YANKED,
    "size": pep700.SIZE_RANGE,
    "upload-time": pep700.UPLOAD_TIME,
    "versions": pep700.VERSIONS,
    "provenance": pep740.URL,
    "status": pep792.TEXTS,
    "reason": pep792.TEXTS,
}
"""The rules that certain keys belong to; all others belong to PEP 691 itself."""


def read_pages(
    documents: Sequence[Document], missing: Rule, read_json: Callable[[bytes, str], Page]
) -> tuple[list[tuple[Document, Page]], list[Violation]]:
    """Read a page in each of its forms.

    Args:
        documents: its forms, as they were served.
        missing: what is broken where there is no such page.
        read_json: makes a page of the content and the URL of its JSON form.

    Returns:
        The forms that could be read, and what is wrong with the others.
    """
    pages: list[tuple[Document, Page]] = []
    violations: list[Violation] = []
    for document in documents:
        if not document.ok:
            violations.append(missing.violation(document.url, f"the page {document.failure}"))
        elif document.content_type in HTML_TYPES and json_text.is_json(document):
            message = f"it is JSON, and the content type is {document.content_type}"
            violations.append(pep691.LABELLED.violation(document.url, message))
        elif document.content_type in HTML_TYPES:
            page = parse_html(document.content, document.final_url, texts=True)
            violations += _violations(document, page)
            pages.append((document, page))
        elif document.content_type == JSON_TYPE:
            faults = json_text.check_json(document)
            violations += faults
            if any(fault.rule == pep691.PARSED for fault in faults):
                continue
            try:
                page = read_json(document.content, document.final_url)
            except ValueError as error:
                violations.append(pep691.SHAPE.violation(document.url, f"the page: {error}"))
                continue
            violations += _violations(document, page)
            if not page.faults:
                pages.append((document, page))
        else:
            message = f"the content type is {document.content_type or 'missing'}"
            violations.append(pep691.CONTENT_TYPE.violation(document.url, message))
    return pages, violations


def _violations(document: Document, page: Page) -> Iterator[Violation]:
    for fault in page.faults:
        other = pep691.SHAPE if page.form is Form.JSON else pep503.HTML5
        yield _RULE_OF_KEY.get(fault.key, other).violation(document.url, fault.problem)
