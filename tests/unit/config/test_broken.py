"""Every broken ``packages.yml`` under ``tests/data/broken`` gives the faults at the places beside it, and no others."""

import shutil
from pathlib import Path

import pytest

from tests.refusals import check_places, faults_of
from wheelmill.config.load import load_config

BROKEN = Path(__file__).parents[2] / "data" / "broken"
FILES = sorted(BROKEN.glob("*.yml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_fault_is_named(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "packages.yml")
    check_places(
        faults_of(load_config, tmp_path, check_ranges=True), path.with_suffix(".expected").read_text().splitlines()
    )


def test_there_are_enough_of_them_and_each_has_its_faults_beside_it() -> None:
    assert len(FILES) >= 40
    assert {path.stem for path in FILES} == {path.stem for path in BROKEN.glob("*.expected")}
