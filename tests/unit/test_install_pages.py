"""Nothing on the pages on installing a wheel is there to be typed that no test did, unless the page says so."""

import pytest

from tests.commands import ROOT
from tests.install_pages import FOLDER, PROJECT, UNTRIED, Section, sections

SECTIONS = sections()
FOLLOWED = "".join(
    (ROOT / "tests" / name).read_text()
    for name in (
        *("integration/test_install_pages.py", "real/test_install_pages.py"),
        *("real/test_install_in_jobs.py", "real/test_update_action.py"),
    )
)


@pytest.mark.parametrize(
    "section", [each for each in SECTIONS.values() if each.blocks and each.name != PROJECT], ids=str
)
def test_a_section_is_followed_by_a_test_or_says_why_not(section: Section) -> None:
    """The project is part of every script that ``project_script`` makes."""
    assert (f'"{section.name}"' in FOLLOWED) != (UNTRIED in section.text)


def test_no_code_stands_outside_of_a_section() -> None:
    fences = sum(page.read_text().count("\n```") // 2 for page in FOLDER.glob("*.md"))
    assert fences == sum(len(section.blocks) for section in SECTIONS.values())


def test_the_first_page_leads_to_all_others() -> None:
    text = (FOLDER / "README.md").read_text()
    assert [page.name for page in FOLDER.glob("*.md") if f"({page.name})" not in text] == ["README.md"]
