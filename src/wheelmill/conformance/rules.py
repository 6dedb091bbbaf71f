"""Every rule there is, and everything that looks for departures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from wheelmill.conformance import (
    limits,
    pep345,
    pep427,
    pep440,
    pep503,
    pep629,
    pep658,
    pep691,
    pep700,
    pep740,
    pep792,
    pep825,
)
from wheelmill.conformance.served import ExaminedFile, ProjectDetail, ProjectList
from wheelmill.conformance.violation import Rule, Violation

RULES: Final = tuple(
    value
    for pep in (pep345, pep427, pep440, pep503, pep629, pep658, pep691, pep700, pep740, pep792, pep825, limits)
    for value in vars(pep).values()
    if isinstance(value, Rule)
)

LIST_CHECKS: Final[tuple[Callable[[ProjectList], Iterator[Violation]], ...]] = (pep503.check_list, pep629.check_page)
DETAIL_CHECKS: Final[tuple[Callable[[ProjectDetail], Iterator[Violation]], ...]] = (
    pep440.check_versions,
    pep503.check_detail,
    pep629.check_page,
    pep658.check_announced_metadata,
    pep691.check_detail,
    pep700.check_attributes,
    pep740.check_provenance_url,
    pep792.check_status,
    pep825.check_variant_lists,
)
FILE_CHECKS: Final[tuple[Callable[[ExaminedFile], Iterator[Violation]], ...]] = (
    pep345.check_metadata,
    pep427.check_zip,
    pep503.check_file,
    pep658.check_sidecar,
    pep700.check_size,
    pep740.check_provenance,
    pep825.check_variant,
)
