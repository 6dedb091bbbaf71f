"""What says the same is one finding."""

import pytest

from wheelmill.conformance import attributes, simple_api
from wheelmill.conformance.report import findings_of, legible
from wheelmill.conformance.rule import Rule, Violation
from wheelmill.web.pages import Form, Link, Page


def of(rule: Rule, *messages: str) -> list[Violation]:
    return [rule.violation(f"https://example.org/{number}/", message) for number, message in enumerate(messages)]


def test_the_same_sentence_about_a_hundred_files_is_one_finding() -> None:
    names = [f"demo-1.{number}-py3-none-any.whl" for number in range(100)]
    statuses = [404] * 60 + [503] * 40
    found = findings_of(
        [
            *of(simple_api.HASH, *(f"{name} has no hash" for name in names)),
            *of(
                attributes.SIDECAR,
                *(f"the METADATA of {name} answers {status}" for name, status in zip(names, statuses, strict=True)),
            ),
        ]
    )
    assert [(it.rule.number, len(it.places), it.places[0].message) for it in found] == [
        ("503.7", 100, "demo-1.0-py3-none-any.whl has no hash"),
        ("658.2", 60, "the METADATA of demo-1.0-py3-none-any.whl answers 404"),
        ("658.2", 40, "the METADATA of demo-1.60-py3-none-any.whl answers 503"),
    ]
    assert [place.url for place in found[0].examples] == [f"https://example.org/{number}/" for number in range(10)]


def test_quarantined_projects_with_one_file_and_with_more_are_one_finding() -> None:
    violations: list[Violation] = []
    for count in (1, 2):
        links = [Link(f"demo-{number}.tar.gz", "https://example.org/demo") for number in range(count)]
        page = Page(form=Form.JSON, base="u", links=links, version="1.4", status="quarantined")
        found = attributes.check_status(page)
        violations += (rule.violation("u", message) for rule, message in found)
    (finding,) = findings_of(violations)
    assert (len(finding.places), finding.places[0].message) == (2, "it is quarantined and lists files: 1")


@pytest.mark.parametrize(
    ("messages", "counts"),
    [
        pytest.param(("the link 'a b' leads to 'b/'", "the link 'c' leads to \"'\""), [2], id="other words in quotes"),
        pytest.param(("'" * 200_001, "1 " * 100_000, "x" * 400_000), [1, 1, 1], id="huge ones take no time"),
    ],
)
def test_messages_with_one_sentence_are_one_finding(messages: tuple[str, ...], counts: list[int]) -> None:
    assert [len(it.places) for it in findings_of(of(simple_api.LIST_ENTRY, *messages))] == counts


def test_another_rule_or_sentence_is_another_finding() -> None:
    found = findings_of([*of(simple_api.HASH, "x has no hash", "y is bad"), *of(simple_api.FILE, "x has no hash")])
    assert [len(it.places) for it in found] == [1, 1, 1]


def test_foreign_text_moves_no_cursor_and_is_cut() -> None:
    assert legible("a\x1b[2J\ud800\n") == "a\ufffd[2J\ufffd\ufffd"
    assert legible("::add-mask::e ##[add-mask]e") == ": :add-mask::e ## [add-mask]e"  # orders to GitHub's runner
    assert legible("x" * 600) == f"{'x' * 500}…"
