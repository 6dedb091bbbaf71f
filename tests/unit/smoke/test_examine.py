"""Trying a wheel beside others of ours, and what it cannot do without."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.unit.build.conftest import CELL, PROVENANCE
from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import certified_wheel
from wheelmill.build.provenance import BuiltWheel, keep_provenance
from wheelmill.errors import ReleaseError
from wheelmill.names import (
    ProjectName,
    PythonVersion,
    StableTorch,
    TorchNeed,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.pipeline.run import serve_candidate
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.smoke.examine import AvailableWheel, examine_wheel, find_required
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

REQUIRED = project_name("torch-scatter")


def lost(_folder: Path) -> WheelFile:
    raise ReleaseError("release-unreadable", "v2026-11-21/torch_scatter.whl has another hash")


def test_a_released_wheel_that_cannot_be_had_refuses_the_one_that_needs_it_and_no_other(tmp_path: Path) -> None:
    file = certified_wheel(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl").file
    expectations = replace(PROVENANCE.expectations, requires=(REQUIRED,))
    provenance = replace(PROVENANCE, sha256=file.sha256, architectures=(), expectations=expectations)
    keep_provenance(BuiltWheel(file=file, provenance=provenance))
    beside = AvailableWheel(cell=replace(CELL, project=REQUIRED), pythons=PROVENANCE.pythons, requires=(), fetch=lost)
    environments = LocalEnvironments(compatibility=FACTS)
    verdict = examine_wheel(file, environments, serve_candidate, available=[beside], progress=Progress())
    assert verdict.findings == (
        Finding(code=Code.ENVIRONMENT, detail="v2026-11-21/torch_scatter.whl has another hash"),
    )


TORCH_11 = TorchVersion(2, 11)
FROM_10 = StableTorch(oldest=TorchVersion(2, 10))
SCATTER, SPARSE = project_name("torch-scatter"), project_name("torch-sparse")


def nowhere(_folder: Path) -> WheelFile:
    raise AssertionError("nothing is fetched before it is chosen")


def available_wheel(
    project: ProjectName,
    version: str = "1.0",
    *,
    requires: tuple[ProjectName, ...] = (),
    torch: TorchNeed | None = TORCH_11,
) -> AvailableWheel:
    cell = replace(CELL, project=project, version=project_version(version), torch=torch)
    return AvailableWheel(cell=cell, pythons=PROVENANCE.pythons, requires=requires, fetch=nowhere)


beside = partial(find_required, CELL, CELL.python)


def test_what_is_required_may_require_more() -> None:
    scatter, sparse = available_wheel(SCATTER), available_wheel(SPARSE, requires=(SCATTER,))
    assert beside([SPARSE], [scatter, sparse]) == [sparse, scatter]


def test_the_newest_version_is_taken() -> None:
    versions = [available_wheel(SCATTER, version) for version in ("2.9", "2.10", "2.2")]
    assert beside([SCATTER], versions) == [versions[1]]


@pytest.mark.parametrize("torch", [TORCH_11, FROM_10, None])
def test_a_wheel_for_many_torches_or_none_serves_one_torch(torch: TorchNeed | None) -> None:
    wheel = available_wheel(SCATTER, torch=torch)
    assert beside([SCATTER], [wheel]) == [wheel]


@pytest.mark.parametrize(
    ("wanted", "python", "torch"),
    [
        (TORCH_11, CELL.python, TorchVersion(2, 10)),
        (TORCH_11, PythonVersion(3, 13), TORCH_11),
        (FROM_10, CELL.python, TORCH_11),
        (FROM_10, CELL.python, StableTorch(oldest=TORCH_11)),
    ],
    ids=["another torch", "another Python", "one torch for many", "fewer torches"],
)
def test_a_wheel_for_others_does_not_do(wanted: TorchNeed, python: PythonVersion, torch: TorchNeed) -> None:
    with pytest.raises(LookupError, match="torch-scatter"):
        find_required(replace(CELL, torch=wanted), python, [SCATTER], [available_wheel(SCATTER, torch=torch)])
