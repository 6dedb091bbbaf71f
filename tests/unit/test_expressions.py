"""Regular expressions mean the same to every Python that wheelmill runs on."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 (Debian 12 has 3.11.2) matches such a group where it does not: gh-106052."""
    found = [
        f"{path.name}: {repeat[0]}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for repeat in re.finditer(r"\(\?>|(?<!\()\)(?:[*+?]|\{[0-9,]+\})\+", path.read_text())
    ]
    assert found == []
