"""Each rule finds what breaks it and nothing else, and lets pass what nearly does."""

from pathlib import Path

import pytest

from tests.broken_indexes import BROKEN, METADATA, Spoil, metadata, variants_beside_plain_wheels
from tests.further_indexes import FURTHER
from tests.good_index import Index
from tests.near_misses import NEAR_MISSES
from tests.unit.conformance.conftest import Serve, check, detail, numbers
from wheelmill.conformance.rule import Rule
from wheelmill.conformance.rules import READABLE, RULES


@pytest.mark.parametrize(
    ("spoil", "files"),
    [
        (lambda _index: None, 2),
        (lambda index: setattr(index, "forms", ("html",)), 2),
        (lambda index: setattr(index, "forms", ("json",)), 2),
        (variants_beside_plain_wheels, 4),
    ],
    ids=["whole", "html", "json", "variants"],
)
def test_an_index_that_keeps_every_rule_has_no_findings(spoil: Spoil, files: int, serve: Serve) -> None:
    report = check(serve(spoil))
    assert report.violations == ()
    assert (report.projects, report.pages, report.files, report.examined) == (1, 1, files, files)


@pytest.mark.parametrize("number", [number for number in BROKEN if number != READABLE.number])
def test_what_breaks_a_rule_is_found_and_nothing_else(number: str, serve: Serve) -> None:
    assert [violation.rule.number for violation in check(serve(BROKEN[number])).violations] == [number]


@pytest.mark.parametrize("number", NEAR_MISSES)
def test_what_nearly_breaks_a_rule_is_no_violation(number: str, serve: Serve) -> None:
    assert check(serve(NEAR_MISSES[number])).violations == ()


@pytest.mark.parametrize("name", FURTHER)
def test_what_else_breaks_a_rule_is_found_too(name: str, serve: Serve) -> None:
    assert numbers(check(serve(FURTHER[name].spoil))) == [*FURTHER[name].rules]


@pytest.mark.nightly
def test_what_is_not_read_to_its_end_is_found_and_nothing_else(serve: Serve) -> None:
    """With less memory test_hostile.py has it."""
    assert numbers(check(serve(BROKEN[READABLE.number]))) == [READABLE.number]


def test_every_rule_is_broken_by_one_index_and_nearly_by_another() -> None:
    every = {rule.number for rule in RULES}
    assert BROKEN.keys() == NEAR_MISSES.keys() == every


def test_an_attribute_is_looked_at_as_it_is_quoted(serve: Serve) -> None:
    values = ["'>=3.8'", '">=3.9"', '"&gt;=3.10"', '"==3.11"']
    links = (f"<a data-requires-python={value} href=demo-{n}.tar.gz>demo</a>" for n, value in enumerate(values))
    violations = check(serve(detail("".join(links) + '<!-- data-requires-python=">=4" -->'))).violations
    messages = [violation.message for violation in violations if violation.rule.number == "503.12"]
    assert messages == [
        f"data-requires-python={value!r} is written without &lt; or &gt;" for value in (">=3.8", ">=3.9")
    ]


@pytest.mark.parametrize(("dynamic", "broken"), [("Requires-Dist", []), ("Nonsense", ["643.1"])])
def test_requirements_that_are_dynamic_may_differ(dynamic: str, broken: list[str], serve: Serve) -> None:
    def spoil(index: Index) -> None:
        BROKEN["643.1"](index)
        metadata(METADATA.replace("2.1", "2.2") + f"Dynamic: {dynamic}\n")(index)

    assert numbers(check(serve(spoil))) == broken


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
