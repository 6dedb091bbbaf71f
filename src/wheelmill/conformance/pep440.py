"""PEP 440: versions in the names of files.

https://peps.python.org/pep-0440/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.served import ProjectDetail
from wheelmill.conformance.values import name_and_version, written_version
from wheelmill.conformance.violation import Violation, installs, rule

NORMAL: Final = rule(
    "440.1",
    "The version in a file name has its normal form: 1.0rc1+cu128, not v1.0-RC1+CU128.",
    installs("by the normal form; the .dist-info keeps the other"),
    section="Normalization",
)


def check_versions(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    for link in detail.page.links:
        named = name_and_version(link.filename)
        if named and (written := written_version(link.filename)) != str(named[1]):
            yield NORMAL.violation(detail.document.url, f"{link.filename} has {written!r} for {named[1]}")
