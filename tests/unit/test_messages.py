"""docs/messages.md has every message of the source, and sentences about each kind of them."""

import re

import pytest

from tests.messages import PAGE, messages, page
from wheelmill import errors
from wheelmill.errors import WheelmillError

TEXT = PAGE.read_text()


def test_the_page_is_what_the_source_says() -> None:
    assert page(TEXT) == TEXT, "python -m tests.messages writes it"


def test_every_section_says_what_to_do() -> None:
    sections = TEXT.split("\n## ")[1:]
    assert len(sections) > len(("errors", "values", "findings", "warnings"))
    assert [each.partition("\n")[0] for each in sections if not re.match(r"[^\n]+\n\n[A-Z`][^\n]{40}", each)] == []


def test_every_error_that_can_be_raised_has_a_section() -> None:
    """But for those that hand on what others said: their classes only sort."""
    classes = {name for name, it in vars(errors).items() if isinstance(it, type) and issubclass(it, WheelmillError)}
    assert {name for name in classes if f"\n## {name}: exit " not in TEXT} == {"WheelmillError", "ManifestError"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "no wheel for PROJECTS",
            "'wheelmill explain' shows every candidate; 'wheelmill add --build' compiles one if it knows how",
        ),
        ("Docker does not answer: OUTPUT", "start its daemon: systemctl start docker"),
        ("WHAT: GitHub answers STATUS SAID", "GITHUB_TOKEN is not valid, or has expired"),
    ],
)
def test_words_stand_for_what_is_named(text: str, hint: str) -> None:
    """A hint may have a name before it is given, or be looked up."""
    assert any(hint in each.hint for each in messages() if each.text == text)
    assert any(f"`{text}`" in item and f"`{hint}" in item for item in TEXT.split("\n- "))


def test_no_code_is_left_in_a_message() -> None:
    assert [
        each.text for each in messages() if re.search(r"\{[a-z_.]+\}|!r|\(\)\.|\bself\b", each.text + each.hint)
    ] == []
