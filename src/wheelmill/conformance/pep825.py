"""PEP 825, a draft: wheels of which a machine takes one by more than their tags.

https://peps.python.org/pep-0825/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.served import ProjectDetail
from wheelmill.conformance.values import name_and_version
from wheelmill.conformance.violation import Violation, installs, rule
from wheelmill.wheel.variant_name import VARIANTS_SUFFIX, split_label, variants_filename

LISTED: Final = rule(
    "825.1",
    "A page that lists variant wheels lists the variants.json of their version.",
    installs("passes over variant wheels"),
    installs("passes over variant wheels, unless its preview of them is on and variants.json is there"),
    section="Index-level metadata",
)


def check_detail(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    names = [link.filename for link in detail.page.links]
    listed = {name_and_version(name) for name in names if name.endswith(VARIANTS_SUFFIX)}
    variants = Counter(name_and_version(name) for name in names if split_label(name)[1])
    for named, count in variants.items():
        if named and named not in listed:
            message = f"it lists variant wheels ({count}) and no {variants_filename(*named)}"
            yield LISTED.violation(detail.document.url, message)
