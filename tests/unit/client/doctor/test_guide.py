"""The page of remedies and what ``doctor`` and ``test`` find belong together."""

from collections import Counter

import pytest

from tests.trouble_page import sections
from wheelmill.client.doctor.guide import SECTIONS, name_sections
from wheelmill.client.doctor.rules import DefectCode
from wheelmill.client.install.trial import FAILURES, explain_failure

BY_PYTHON = ("ImportError: ", "OSError: ", "RuntimeError: ")


def test_each_finding_is_explained_in_one_section() -> None:
    told = Counter(code for codes in SECTIONS.values() for code in codes)
    assert set(told) == {*DefectCode, *FAILURES}
    assert set(told.values()) == {1}


def test_the_page_has_each_section_with_its_codes() -> None:
    on_page = {title: section.codes for title, section in sections().items() if section.codes}
    assert on_page == SECTIONS


@pytest.mark.parametrize("title", sections())
def test_a_section_shows_what_is_seen_and_a_command(title: str) -> None:
    section = sections()[title]
    assert section.said
    assert section.commands


@pytest.mark.parametrize("title", SECTIONS)
def test_a_message_of_python_is_told_by_a_code_of_its_section(title: str) -> None:
    codes = SECTIONS[title]
    said = [line for line in sections()[title].said if line.startswith(BY_PYTHON)]
    assert [(line, explain_failure(line).code) for line in said if explain_failure(line).code not in codes] == []


def test_what_was_found_names_its_sections_once_and_in_their_order() -> None:
    assert name_sections([DefectCode.GLIBC, DefectCode.TORCH, DefectCode.ABI]) == (
        'explained in docs/when-it-does-not-work.md: "Undefined symbol", "glibc too old"'
    )
