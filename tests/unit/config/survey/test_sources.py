"""A source is looked at within limits."""

import re
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.config.survey import sources
from wheelmill.config.survey.sources import SourceTree
from wheelmill.errors import UsageError


def test_links_and_what_is_of_others_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("\nneedle")
    (tmp_path / "b.cu").symlink_to("/etc/passwd")
    (tmp_path / "third_party").mkdir()
    (tmp_path / "third_party" / "c.cu").write_text("needle")
    tree = SourceTree(tmp_path)
    assert tree.files == {"a.cu", "third_party/c.cu"}
    assert [str(place) for place, _ in tree.search(re.compile("needle"), ".cu")] == ["a.cu:2"]
    assert tree.content("b.cu") == b""


def test_more_files_than_any_source_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(UsageError, check=coded("too-many-files", "2")):
        SourceTree(tmp_path)


def test_a_long_script_is_refused_and_a_long_kernel_searched_at_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_FILE", 8)
    (tmp_path / "a.cu").write_bytes(b"12345678needle\0\xff")
    tree = SourceTree(tmp_path)
    assert list(tree.search(re.compile("needle"), ".cu")) == []
    with pytest.raises(UsageError, check=coded("file-too-large", "a.cu", "8")):
        tree.content("a.cu")


def test_a_search_ends_where_it_read_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_SEARCHED", 10)
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("12345needle")
    assert list(SourceTree(tmp_path).search(re.compile("needle"), ".cu")) == []
