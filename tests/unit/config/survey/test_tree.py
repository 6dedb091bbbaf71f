"""A source is searched and counted within limits."""

import re
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.config.model.files import SourceCode
from wheelmill.config.survey import tree
from wheelmill.config.survey.tree import SourceTree, count_code
from wheelmill.errors import UsageError


def test_links_and_what_is_of_others_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("\nneedle")
    (tmp_path / "b.cu").symlink_to("/etc/passwd")
    (tmp_path / "third_party").mkdir()
    (tmp_path / "third_party" / "c.cu").write_text("needle")
    source = SourceTree(tmp_path)
    assert source.files == {"a.cu", "third_party/c.cu"}
    assert [str(place) for place, _ in source.search(re.compile("needle"), ".cu")] == ["a.cu:2"]
    assert source.content("b.cu") == b""


def test_more_files_than_any_source_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(UsageError, check=coded("too-many-files", "2")):
        SourceTree(tmp_path)


def test_a_long_script_is_refused_and_a_long_kernel_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_FILE", 8)
    (tmp_path / "a.cu").write_bytes(b"12345678needle\0\xff")
    source = SourceTree(tmp_path)
    assert list(source.search(re.compile("needle"), ".cu")) == []
    with pytest.raises(UsageError, check=coded("file-too-large", "a.cu", "8")):
        source.content("a.cu")


def test_a_search_ends_where_it_read_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_SEARCHED", 10)
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("12345needle")
    assert list(SourceTree(tmp_path).search(re.compile("needle"), ".cu")) == []


KERNEL = '#include "ops.cuh"\n'
BINDING = "#include <torch/extension.h>\n"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"setup.py": "", "a.cpp": "#include <vector>"}, None),
        (
            {"a.cu": KERNEL, "ops.cuh": "", "a.cpp": BINDING},
            SourceCode(cuda_files=1, bindings=1, includes_python=False),
        ),
        ({"csrc/a.cu": KERNEL, "include/ops.cuh": BINDING}, SourceCode(cuda_files=1, includes_python=True)),
        (
            {"a.cu": KERNEL, "ops.cuh": ' # include "own/deep.h"', "own/deep.h": '#include "Python.h"'},
            SourceCode(cuda_files=1, includes_python=True),
        ),
        ({"a.cu": KERNEL, "ops.cuh": '#include "ops.cuh"'}, SourceCode(cuda_files=1, includes_python=False)),
        ({"a.cu": BINDING, "b.cu": "", "c.cu": ""}, SourceCode(cuda_files=3, includes_python=False)),
        ({"a.cu": BINDING, "tests/b.cu": "", "third_party/c.cu": ""}, SourceCode(cuda_files=1, includes_python=True)),
        ({"vendor/a.cu": "", "vendor/b.cu": ""}, SourceCode(cuda_files=2, includes_python=False)),
        ({"a.cc": "#include <pybind11/pybind11.h>"}, SourceCode(bindings=1, includes_python=False)),
    ],
)
def test_files_to_compile_are_counted(*, files: dict[str, str], code: SourceCode | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert count_code(tmp_path) == code


def test_an_include_that_a_patch_removes_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(BINDING)
    patch = tmp_path / "shared.patch"
    patch.write_text(f"--- a/a.cu\n+++ b/a.cu\n@@ -1 +1 @@\n-{BINDING}+#include <torch/all.h>\n")
    assert count_code(tmp_path, [patch]) == SourceCode(cuda_files=1, includes_python=False)


def test_a_source_with_too_many_files_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.cu").touch()
    monkeypatch.setattr(tree, "MAX_FILES", 0)
    assert count_code(tmp_path) is None
