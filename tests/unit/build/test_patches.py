"""Patching a source before it is built."""

import difflib
from pathlib import Path

import pytest

from tests.programs import needs
from tests.refusals import coded
from tests.unit.build.conftest import package_in
from wheelmill.build.source import apply_patches
from wheelmill.errors import BuildError

pytestmark = needs("patch")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source whose one file says which patches it has."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "setup.py").write_text("none\n")
    return tmp_path / "demo"


def patch(path: Path, before: str, after: str) -> Path:
    """A patch as git writes it, from one content of setup.py to another."""
    lines = difflib.unified_diff([before], [after], "a/setup.py", "b/setup.py")
    path.write_text("".join(lines))
    return path


def test_patches_are_applied_in_their_order(source: Path, tmp_path: Path) -> None:
    first = patch(tmp_path / "z.patch", "none\n", "first\n")
    second = patch(tmp_path / "a.patch", "first\n", "second\n")
    apply_patches(package_in(tmp_path, first, second), source, log=tmp_path / "log")
    assert (source / "setup.py").read_text() == "second\n"


def test_a_patch_that_does_not_apply_is_a_build_error_that_names_it(source: Path, tmp_path: Path) -> None:
    first = patch(tmp_path / "first.patch", "none\n", "first\n")
    with pytest.raises(BuildError, check=coded("patch-failed", "first.patch", "demo", "setup.py")):
        apply_patches(package_in(tmp_path, first, first), source, log=tmp_path / "log")


def test_a_patch_changes_nothing_outside_the_source(source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "setup.py"
    outside.write_text("none\n")
    lines = difflib.unified_diff(["none\n"], ["changed\n"], "a/../setup.py", "b/../setup.py")
    (tmp_path / "out.patch").write_text("".join(lines))
    with pytest.raises(BuildError, check=coded("patch-failed", "out.patch")):
        apply_patches(package_in(tmp_path, tmp_path / "out.patch"), source, log=tmp_path / "log")
    assert outside.read_text() == "none\n"
