"""What a wheel cannot do without."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.unit.build.conftest import CELL, PROVENANCE
from wheelmill.names import ProjectName, PythonVersion, TorchVersion, project_name, project_version
from wheelmill.pipeline.available import Neighbour, required_beside
from wheelmill.wheel.name import WheelFile

SCATTER, SPARSE = project_name("torch-scatter"), project_name("torch-sparse")


def nowhere(_folder: Path) -> WheelFile:
    raise AssertionError("nothing is fetched before it is chosen")


def neighbour(
    project: ProjectName, version: str = "1.0", *, requires: tuple[ProjectName, ...] = (), torch: str = "2.11"
) -> Neighbour:
    cell = replace(CELL, project=project, version=project_version(version), torch=TorchVersion.parse(torch))
    expectations = replace(PROVENANCE.expectations, requires=requires)
    return Neighbour(provenance=replace(PROVENANCE, cell=cell, expectations=expectations), fetch=nowhere)


beside = partial(required_beside, CELL, CELL.python)


def test_what_is_required_may_require_more() -> None:
    scatter, sparse = neighbour(SCATTER), neighbour(SPARSE, requires=(SCATTER,))
    assert beside([SPARSE], [scatter, sparse]) == [sparse, scatter]


def test_the_newest_version_is_taken() -> None:
    versions = [neighbour(SCATTER, version) for version in ("2.9", "2.10", "2.2")]
    assert beside([SCATTER], versions) == [versions[1]]


def test_another_torch_does_not_do() -> None:
    with pytest.raises(LookupError, match="torch-scatter"):
        beside([SCATTER], [neighbour(SCATTER, torch="2.10")])


def test_another_python_does_not_do() -> None:
    with pytest.raises(LookupError, match="torch-scatter"):
        required_beside(CELL, PythonVersion(3, 13), [SCATTER], [neighbour(SCATTER)])
