"""Files that people write keep their comments and their layout when a program changes a value."""

from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from wheelmill.config.annotations import KeyPath, Unquoted
from wheelmill.config.upkeep.amend import amend
from wheelmill.errors import ConfigurationError

TEXT = """\
# At the head.
checked: 2026-11-21   # a date
releases:
  "2.9":   # an old one
    release: "2.9.0"
    python: ["3.10",   "3.11"]   # without 3.12
  "2.10":  {release: "2.10.0", python: ["3.10"]} # on one line

# Behind the releases.
platforms: [linux_x86_64]
"""
NEW: dict[str, Any] = {"release": "2.11.0", "cuda": {"linux_x86_64": ["13.0"]}, "python": ["3.11", "3.12"]}


@pytest.mark.parametrize(
    ("key_path", "value", "line", "changed"),
    [
        (("checked",), "2026-11-28", "checked: 2026-11-21   # a date", "checked: 2026-11-28   # a date"),
        (("releases", "2.9", "release"), "2.9.1", '    release: "2.9.0"', '    release: "2.9.1"'),
        (
            ("releases", "2.9", "python"),
            ["3.12"],
            '    python: ["3.10",   "3.11"]   # without 3.12',
            '    python: ["3.12"]   # without 3.12',
        ),
        (
            ("releases", "2.10", "python"),
            ["3.10", "3.14t"],
            '  "2.10":  {release: "2.10.0", python: ["3.10"]} # on one line',
            '  "2.10":  {release: "2.10.0", python: ["3.10", "3.14t"]} # on one line',
        ),
    ],
)
def test_a_value_changes_and_every_other_byte_stays(
    tmp_path: Path, key_path: KeyPath, value: Any, line: str, changed: str
) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(TEXT)
    amend(path, {key_path: value})
    assert path.read_text() == TEXT.replace(line, changed)


def test_new_keys_follow_the_last_of_their_mapping(tmp_path: Path) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(TEXT)
    amend(path, {("checked",): "2026-11-28", ("releases", "2.11"): NEW, ("releases", "2.12"): {"release": "2.12.0"}})
    added = """\
  "2.11":
    release: "2.11.0"
    cuda: {linux_x86_64: ["13.0"]}
    python: ["3.11", "3.12"]
  "2.12":
    release: "2.12.0"
"""
    assert path.read_text() == TEXT.replace("11-21", "11-28").replace("# on one line\n", f"# on one line\n{added}")


def test_a_file_may_end_without_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "facts.yml"
    path.write_text("releases:\n    a: {b: c}")
    amend(path, {("releases", "d"): {"e": "f"}})
    assert path.read_text() == 'releases:\n    a: {b: c}\n    "d":\n      e: "f"'


@pytest.mark.parametrize(
    ("text", "amended"),
    [
        ("a:\n  b: c # 1\n\n# end\n", "a:\n  b: c # 1\n  seconds: 280\n\n# end\n"),
        (
            "a:\n  b:\n    - {c: d} # 1\n    - e # 2\n\n# end\nf: g\n",
            "a:\n  b:\n    - {c: d} # 1\n    - e # 2\n  seconds: 280\n\n# end\nf: g\n",
        ),
        ("a: {b: c} # 1\n", "a: {b: c, seconds: 280} # 1\n"),
        ("a: # 0\n  seconds: 7 # 1\n  b: c\n", "a: # 0\n  seconds: 280 # 1\n  b: c\n"),
    ],
    ids=["below", "below a list", "in brackets", "in its place"],
)
def test_a_key_with_one_value_is_added_or_replaced(tmp_path: Path, text: str, amended: str) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(text)
    amend(path, {("a", "seconds"): Unquoted("280")})
    assert path.read_text() == amended


@pytest.mark.parametrize(
    ("text", "keys", "amended"),
    [
        ("a: {} # none\nb: c\n", [("a", "d")], 'a:\n  "d":\n    e: "f" # none\nb: c\n'),
        ("a:\n  b: {}\n", [("a", "b", "c")], 'a:\n  b:\n    "c":\n      e: "f"\n'),
        ("a: {}", [("a", "b"), ("a", "c")], 'a:\n  "b":\n    e: "f"\n  "c":\n    e: "f"'),
    ],
)
def test_a_mapping_that_is_empty_gets_its_first_keys(
    tmp_path: Path, text: str, keys: list[KeyPath], amended: str
) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(text)
    amend(path, {key_path: {"e": "f"} for key_path in keys})
    assert path.read_text() == amended


@pytest.mark.parametrize(
    ("text", "key_path", "value"),
    [
        ("a:\n  - b\n  - c\nd: e\n", ("a",), ["f"]),
        ("a: {b: {c: d}}\n", ("a", "e"), {"f": "g"}),
        ("a: b\n", ("a",), "c: d"),
        ("a: b\n", ("a",), "13.0"),
    ],
    ids=["a list in lines", "a new key in brackets", "text that needs quotes", "text that would be a number"],
)
def test_a_file_that_would_say_something_else_is_left_alone(
    tmp_path: Path, text: str, key_path: KeyPath, value: Any
) -> None:
    path = tmp_path / "facts.yml"
    path.write_text(text)
    with pytest.raises(
        ConfigurationError,
        check=coded("configuration-invalid", "facts.yml:1:1: cannot be changed in place; nothing was written"),
    ):
        amend(path, {key_path: value})
    assert path.read_text() == text
