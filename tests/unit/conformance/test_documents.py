"""docs/index-check.md lists every rule as it is."""

from pathlib import Path

from tests.further_indexes import FURTHER
from wheelmill.conformance.rules import RULES
from wheelmill.conformance.violation import Rule

PAGE = Path(__file__).parents[3] / "docs" / "index-check.md"


def row(rule: Rule) -> str:
    stands_in = f"{rule.pep}, {rule.section}"
    cells = (rule.number, rule.text, rule.severity, rule.pip, rule.uv, stands_in)
    return f"| {' | '.join(map(str, cells))} |"


def test_the_page_lists_every_rule() -> None:
    rows = PAGE.read_text().split("|---|---|---|---|---|---|\n")[1].splitlines()
    assert rows == [row(rule) for rule in RULES]


def test_the_page_counts_the_further_indexes() -> None:
    assert f"from {len(FURTHER)} more" in PAGE.read_text()


def test_the_changelog_counts_them() -> None:
    assert f"by {len(RULES)} rules" in (PAGE.parents[1] / "CHANGELOG.md").read_text()
