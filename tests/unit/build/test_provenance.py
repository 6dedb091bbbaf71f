"""Provenance beside a wheel, bound to its bytes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import PROVENANCE
from tests.wheels import write_wheel
from wheelmill.build.provenance import BuiltWheel, keep_provenance, provenance_of, provenance_path
from wheelmill.errors import IntegrityError
from wheelmill.names import StableTorch, TorchNeed, TorchVersion
from wheelmill.wheel.name import WheelFile


@pytest.fixture
def built(tmp_path: Path) -> BuiltWheel:
    """A wheel with its provenance beside it."""
    file = WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl"))
    built = BuiltWheel(file=file, provenance=replace(PROVENANCE, sha256=file.sha256))
    keep_provenance(built)
    return built


@pytest.mark.parametrize(
    ("torch", "written"),
    [
        (TorchVersion(2, 11), {"torch": "2.11", "torch_abi": None}),
        (StableTorch(oldest=TorchVersion(2, 10)), {"torch": None, "torch_abi": {"stable": "2.10"}}),
        (None, {"torch": None, "torch_abi": None}),
    ],
)
def test_a_range_of_torches_is_kept_beside_the_one_torch_of_other_wheels(
    torch: TorchNeed | None, written: dict[str, object], built: BuiltWheel
) -> None:
    provenance = replace(built.provenance, cell=replace(built.provenance.cell, torch=torch))
    keep_provenance(replace(built, provenance=provenance))
    cell = json.loads(provenance_path(built.file.path).read_text())["cell"]
    assert {key: cell[key] for key in ("torch", "torch_abi")} == written
    assert provenance_of(built.file) == provenance


def test_provenance_from_before_there_were_ranges_is_read(built: BuiltWheel) -> None:
    kept = json.loads(provenance_path(built.file.path).read_text())
    del kept["cell"]["torch_abi"]
    provenance_path(built.file.path).write_text(json.dumps(kept))
    assert provenance_of(built.file) == built.provenance


@pytest.mark.parametrize(
    "forged", [{"torch": "2.11", "torch_abi": {"stable": "2.10"}}, {"torch": None, "torch_abi": "2.10"}]
)
def test_provenance_with_two_meanings_of_torch_is_refused(forged: dict[str, object], built: BuiltWheel) -> None:
    kept = json.loads(provenance_path(built.file.path).read_text())
    provenance_path(built.file.path).write_text(json.dumps(kept | {"cell": kept["cell"] | forged}))
    with pytest.raises(IntegrityError):
        provenance_of(built.file)


def test_a_wheel_with_other_bytes_or_that_was_not_built_here_has_none(built: BuiltWheel, tmp_path: Path) -> None:
    write_wheel(built.file.path, files={"demo/more.py": b""})
    assert provenance_of(WheelFile.at(built.file.path)) is None
    assert provenance_of(WheelFile.at(write_wheel(tmp_path / "other" / "demo-1.0-py3-none-any.whl"))) is None


def test_provenance_that_cannot_be_read_is_an_integrity_error(built: BuiltWheel) -> None:
    provenance_path(built.file.path).write_text("{}")
    with pytest.raises(IntegrityError, check=coded("record-invalid", "Provenance")):
        provenance_of(built.file)
