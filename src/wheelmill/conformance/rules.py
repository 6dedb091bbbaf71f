"""Every rule there is, and everything that looks for departures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from wheelmill.conformance import pep503, pep503_rules, pep592, pep629, pep658, pep691, pep700, pep740, pep792
from wheelmill.conformance.examined import Examined
from wheelmill.conformance.finding import Finding, Rule
from wheelmill.conformance.pages import ProjectDetail, ProjectList

RULES: Final[tuple[Rule, ...]] = (
    *pep503_rules.RULES,
    *pep592.RULES,
    *pep629.RULES,
    *pep658.RULES,
    *pep691.RULES,
    *pep700.RULES,
    *pep740.RULES,
    *pep792.RULES,
)

OF_LIST: Final[tuple[Callable[[ProjectList], Iterator[Finding]], ...]] = (pep503.of_list, pep629.of_page)
OF_DETAIL: Final[tuple[Callable[[ProjectDetail], Iterator[Finding]], ...]] = (
    pep503.of_detail,
    pep629.of_page,
    pep658.of_detail,
    pep691.of_detail,
    pep700.of_detail,
    pep740.of_detail,
    pep792.of_detail,
)
OF_FILE: Final[tuple[Callable[[Examined], Iterator[Finding]], ...]] = (
    pep503.of_file,
    pep658.of_file,
    pep700.of_file,
    pep740.of_file,
)
