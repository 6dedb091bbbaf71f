"""PEP 792: the status of a project.

https://peps.python.org/pep-0792/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.served import ProjectDetail
from wheelmill.conformance.violation import Violation, fails, installs, rule
from wheelmill.web.pages import Form

STATUS: Final = rule(
    "792.1",
    "The status is active, archived, quarantined or deprecated.",
    installs("without a word"),
    section="Project status markers",
)
QUARANTINED: Final = rule(
    "792.2", "A quarantined project offers no files.", installs("without a word"), section="Project status markers"
)
STATUS_VERSION: Final = rule(
    "792.3",
    "A page that gives the status has API version 1.4 or later.",
    installs("without a word"),
    section="Status markers in the index APIs",
)
TEXTS: Final = rule(
    "792.4",
    "In JSON, the status and its reason are texts.",
    installs("without a word"),
    fails("refuses the page"),
    section="Status markers in the index APIs",
)
SAME_STATUS: Final = rule(
    "792.5",
    "The status and its reason are the same in HTML and JSON.",
    installs("without a word"),
    section="Status markers in the index APIs",
)

_BEFORE: Final = frozenset({None, "1.0", "1.1", "1.2", "1.3"})
_STATUSES: Final = frozenset({"active", "archived", "quarantined", "deprecated"})


def check_status(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    url, page = detail.document.url, detail.page
    if page.status is not None and page.status not in _STATUSES:
        yield STATUS.violation(url, f"the status is {page.status!r}")
    if page.status is not None and page.version in _BEFORE:
        yield STATUS_VERSION.violation(url, f"the status needs API version 1.4; the page has {page.version}")
    if page.status == "quarantined" and page.links:
        yield QUARANTINED.violation(url, f"it is quarantined and lists files: {len(page.links)}")


def compare_statuses(forms: list[ProjectDetail]) -> Iterator[Violation]:
    """How the forms of a project's page differ."""
    said = {form.page.form: (form.page.status or "active", form.page.status_reason or "") for form in forms}
    if len(said) == len(Form) and said[Form.HTML] != said[Form.JSON]:
        told = [f"{form} says {status!r} with the reason {reason!r}" for form, (status, reason) in said.items()]
        yield SAME_STATUS.violation(forms[0].document.url, ", ".join(sorted(told)))
