"""PEP 629: versions of the simple API.

https://peps.python.org/pep-0629/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.served import ProjectDetail, ProjectList
from wheelmill.conformance.violation import Violation, installs, rule

MISSING: Final = rule(
    "629.1", "Every page gives the version of the API.", installs("does not look at it"), section="Overview"
)
FORM: Final = rule(
    "629.2", "The version of the API is two numbers, Major.Minor.", installs("does not look at it"), section="Overview"
)
MAJOR: Final = rule("629.3", "The major version of the API is 1.", installs("does not look at it"), section="Clients")


def check_page(shown: ProjectList | ProjectDetail) -> Iterator[Violation]:
    """What any page breaks."""
    url, stated = shown.document.url, shown.page.version
    if stated is None:
        yield MISSING.violation(url, "the page has no pypi:repository-version")
        return
    numbers = stated.split(".")
    if len(numbers) != 2 or not all(n.isascii() and n.isdigit() for n in numbers):  # noqa: PLR2004 - major and minor
        yield FORM.violation(url, f"the version is {stated!r}")
    elif numbers[0] != "1":
        yield MAJOR.violation(url, f"the version is {stated}; clients know 1")
