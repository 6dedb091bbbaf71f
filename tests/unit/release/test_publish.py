"""A published wheel that was built again."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.wheels import write_wheel
from wheelmill.build.provenance import BuiltWheel, keep_provenance, provenance_of
from wheelmill.names import Sha256
from wheelmill.release.publish import assign_build_number, with_build_number
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.record import check_record

NAME = "demo-1.0+cu130-cp312-cp312-linux_x86_64.whl"
FIRST = "demo-1.0+cu130-1-cp312-cp312-linux_x86_64.whl"
SECOND = "demo-1.0+cu130-2-cp312-cp312-linux_x86_64.whl"
OTHER = Sha256("f" * 64)


@pytest.fixture
def built(tmp_path: Path) -> BuiltWheel:
    file = WheelFile.at(write_wheel(tmp_path / NAME, files={"demo/__init__.py": b""}))
    wheel = BuiltWheel(file=file, provenance=replace(PROVENANCE, sha256=file.sha256))
    keep_provenance(wheel)
    return wheel


def test_the_first_wheel_of_a_name_keeps_it(built: BuiltWheel) -> None:
    published = {"demo-1.1+cu130-cp312-cp312-linux_x86_64.whl": OTHER, NAME.replace("cp312", "cp311"): OTHER}
    assert assign_build_number(built, published) is built


def test_the_same_bytes_are_nothing_new(built: BuiltWheel) -> None:
    assert assign_build_number(built, {NAME: built.file.sha256}) is None


def test_other_bytes_get_the_next_number_in_name_and_wheel_and_record(built: BuiltWheel) -> None:
    rebuilt = assign_build_number(built, {NAME: OTHER})
    assert rebuilt
    assert rebuilt.file.filename == FIRST
    with zipfile.ZipFile(rebuilt.file.path) as archive:
        assert b"\nBuild: 1\n" in archive.read("demo-1.0+cu130.dist-info/WHEEL")
        assert list(check_record(archive, "demo-1.0+cu130.dist-info")) == []
    assert provenance_of(rebuilt.file) == rebuilt.provenance
    assert sorted(path.name for path in built.file.path.parent.glob("*.whl")) == [FIRST]


@pytest.mark.parametrize(("published", "name"), [(NAME, FIRST), (FIRST, SECOND)])
def test_a_version_that_was_spelled_otherwise_is_counted(published: str, name: str, built: BuiltWheel) -> None:
    """Installers take 1.0 and 1.0.0 for one version."""
    rebuilt = assign_build_number(built, {published.replace("1.0", "1.0.0"): OTHER})
    assert rebuilt
    assert rebuilt.file.filename == name


def test_numbers_go_on_from_the_highest(built: BuiltWheel) -> None:
    rebuilt = assign_build_number(built, {NAME: OTHER, FIRST: OTHER})
    assert rebuilt
    assert rebuilt.file.filename == SECOND


def test_the_same_bytes_as_the_latest_number_are_nothing_new(built: BuiltWheel, tmp_path: Path) -> None:
    latest = with_build_number(built.file, 1, tmp_path / "elsewhere")
    assert assign_build_number(built, {NAME: OTHER, FIRST: latest.sha256}) is None
