"""PEP 629: versions of the simple API.

https://peps.python.org/pep-0629/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.pages import ProjectDetail, ProjectList
from wheelmill.conformance.violation import Rule, Violation, installs

MISSING: Final = Rule(
    number="629.1",
    text="Every page gives the version of the API.",
    section="Overview",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)
FORM: Final = Rule(
    number="629.2",
    text="The version of the API is two numbers, Major.Minor.",
    section="Overview",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)
MAJOR: Final = Rule(
    number="629.3",
    text="The major version of the API is 1.",
    section="Clients",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)

RULES: Final = (MISSING, FORM, MAJOR)


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
