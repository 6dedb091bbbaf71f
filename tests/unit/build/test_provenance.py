"""Provenance beside a wheel, bound to its bytes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.wheels import write_wheel
from wheelmill.build.provenance import BuiltWheel, keep_provenance, provenance_of, provenance_path
from wheelmill.errors import IntegrityError
from wheelmill.wheel.name import WheelFile


@pytest.fixture
def built(tmp_path: Path) -> BuiltWheel:
    """A wheel with its provenance beside it."""
    file = WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl"))
    built = BuiltWheel(file=file, provenance=replace(PROVENANCE, sha256=file.sha256))
    keep_provenance(built)
    return built


def test_provenance_is_read_as_it_was_kept(built: BuiltWheel) -> None:
    assert provenance_of(built.file) == built.provenance


def test_provenance_of_other_bytes_does_not_count(built: BuiltWheel) -> None:
    write_wheel(built.file.path, files={"demo/more.py": b""})
    assert provenance_of(WheelFile.at(built.file.path)) is None


def test_a_wheel_that_was_not_built_here_has_none(tmp_path: Path) -> None:
    file = WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl"))
    assert provenance_of(file) is None


def test_provenance_that_cannot_be_read_is_an_integrity_error(built: BuiltWheel) -> None:
    provenance_path(built.file.path).write_text("{}")
    with pytest.raises(IntegrityError, match="is not a Provenance"):
        provenance_of(built.file)
