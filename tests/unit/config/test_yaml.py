"""YAML with positions, and what of YAML is refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import faults_of, places
from wheelmill.config.yaml import MAX_BYTES, MAX_DEPTH, YamlDocument, read_document
from wheelmill.errors import ConfigurationError

# What YAML gives a meaning to, and what its parsers have tripped over.
WORDS = """
    a: - ? {} [ ] { , # ' " | > & * ! % @ ` = << ~ '' ... --- &a *a !a !<a>
    !!int !!float !!bool !!null !!timestamp !!str !!seq !!map !!binary !!set
    1 0x 0b1 010 1:30 1:1.5 1e3 1.5e999 .inf .nan _ yes 2026-02-30 2026-11-21
    "\\x41" "\\uD800" "\\UFFFFFFFF" %YAML
"""
PIECES = [*WORDS.split(), "\n", "\t", "\0", "\x85", "\ufeff"]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("document") / "packages.yml"


def read(path: Path, content: str) -> YamlDocument:
    path.write_bytes(content.encode())
    return read_document(path)


def test_every_key_and_item_has_a_position(scratch: Path) -> None:
    document = read(scratch, "# Comment.\npackages:\n  demo: {env: {A: x}}\n  list:\n    - one\n    - [two]\n")
    assert document.content == {"packages": {"demo": {"env": {"A": "x"}}, "list": ["one", ["two"]]}}
    assert document.positions == {
        (): (1, 1),
        ("packages",): (2, 1),
        ("packages", "demo"): (3, 3),
        ("packages", "demo", "env"): (3, 10),
        ("packages", "demo", "env", "A"): (3, 16),
        ("packages", "list"): (4, 3),
        ("packages", "list", 0): (5, 7),
        ("packages", "list", 1): (6, 7),
        ("packages", "list", 1, 0): (6, 8),
    }


@pytest.mark.parametrize(
    ("keys", "place"),
    [(("a", "b", 1), "2:10: a.b.1"), (("a", "c", "d"), "1:1: a.c.d"), (("z",), "1:1: z"), ((), "1:1")],
    ids=["its key", "the nearest above", "no key", "the file"],
)
def test_a_fault_stands_at_its_key_or_the_nearest_above(scratch: Path, keys: tuple[str, ...], place: str) -> None:
    assert read(scratch, "a:\n  b: [x, y]\n").fault(keys, "no") == f"packages.yml:{place}: no"


def test_quotes_keep_text_from_becoming_anything_else(scratch: Path) -> None:
    texts = ["2.10", "yes", "null", "010", "2026-11-21", "=", "<<", "*a", "!!int"]
    assert read(scratch, f"{texts}").content == texts


def test_marks_and_line_ends_of_other_systems_are_read(scratch: Path) -> None:
    document = read(scratch, "\ufeffa:\r\n  b: x\r\n")
    assert document.content == {"a": {"b": "x"}}
    assert document.positions["a", "b"] == (2, 3)


def test_an_empty_file_holds_nothing(scratch: Path) -> None:
    assert read(scratch, "# Nothing yet.\n").content is None


def test_faults_that_hide_nothing_are_all_named(scratch: Path) -> None:
    scratch.write_text("a: x\na: y\nb: {c: x, c: y}\n")
    assert places(faults_of(read_document, scratch)) == ["packages.yml:2:1: a", "packages.yml:3:11: b.c"]


def test_faults_before_the_one_that_hides_the_rest_are_named_too(scratch: Path) -> None:
    scratch.write_text("a: x\na: y\nb: *c\nd: x\nd: y\n")
    first, second = faults_of(read_document, scratch)
    assert places([first]) == ["packages.yml:2:1: a"]
    assert second.startswith("packages.yml:3:4: ")


def test_the_last_allowed_level_is_read(scratch: Path) -> None:
    content = read(scratch, "[" * MAX_DEPTH + "]" * MAX_DEPTH).content
    for _ in range(MAX_DEPTH - 1):
        (content,) = content
    assert content == []


def test_one_level_more_is_refused(scratch: Path) -> None:
    scratch.write_text("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    (fault,) = faults_of(read_document, scratch)
    assert fault.startswith(f"packages.yml:1:{MAX_DEPTH + 1}: ")


def test_a_file_that_is_too_large_is_not_read(scratch: Path) -> None:
    scratch.write_bytes(b"\xff" * (MAX_BYTES + 1))
    assert faults_of(read_document, scratch) == (f"packages.yml:1:1: larger than {MAX_BYTES} bytes",)


@pytest.mark.parametrize("place", ["packages.yml", ".", "file/packages.yml"], ids=["no file", "a folder", "in a file"])
def test_a_place_without_a_file_is_a_fault(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("packages: {}\n")
    (fault,) = faults_of(read_document, tmp_path / place)
    assert fault.startswith(f"{(tmp_path / place).name}:1:1: ")
    assert str((tmp_path / place).parent) in fault


@given(text=st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_any_text_is_read_or_refused_in_lines_that_name_a_place(scratch: Path, text: str) -> None:
    try:
        read(scratch, text)
    except ConfigurationError as error:
        assert error.faults  # noqa: PT017 - either outcome is right
        for fault in error.faults:
            place, line, column, message = fault.split(":", 3)
            assert place == "packages.yml"
            assert int(line) <= text.count("\n") + text.count("\x85") + 2  # libyaml ends a file on a line of its own
            assert int(column) <= len(text) + 1
            assert message.strip()
            assert fault.isprintable()
