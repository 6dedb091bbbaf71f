"""PEP 792: the status of a project.

https://peps.python.org/pep-0792/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.finding import Finding, Rule, installs
from wheelmill.conformance.pages import ProjectDetail

STATUS: Final = Rule(
    number="792.1",
    says="The status is active, archived, quarantined or deprecated.",
    section="Project status markers",
    pip=installs("without a word"),
    uv=installs("without a word"),
)
QUARANTINED: Final = Rule(
    number="792.2",
    says="A quarantined project offers no files.",
    section="Project status markers",
    pip=installs("without a word"),
    uv=installs("without a word"),
)

VERSION: Final = Rule(
    number="792.3",
    says="A page that gives the status has API version 1.4 or later.",
    section="Status markers in the index APIs",
    pip=installs("without a word"),
    uv=installs("without a word"),
)

RULES: Final = (STATUS, QUARANTINED, VERSION)

_BEFORE: Final = frozenset({None, "1.0", "1.1", "1.2", "1.3"})

_STATUSES: Final = frozenset({"active", "archived", "quarantined", "deprecated"})


def of_detail(page: ProjectDetail) -> Iterator[Finding]:
    """What a project's page breaks."""
    if page.status is not None and page.status not in _STATUSES:
        yield STATUS.broken(page.document.url, f"the status is {page.status!r}")
    if page.status is not None and page.repository_version in _BEFORE:
        message = f"the status needs API version 1.4; the page has {page.repository_version}"
        yield VERSION.broken(page.document.url, message)
    if page.status == "quarantined" and page.files:
        yield QUARANTINED.broken(page.document.url, f"it is quarantined and lists {len(page.files)} files")
