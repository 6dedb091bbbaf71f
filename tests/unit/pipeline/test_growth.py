"""Which published wheel a new one is compared with, and when it is told to be much larger."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.build.conftest import CELL
from wheelmill.names import CudaVersion, PythonVersion, ReleaseTag, Sha256, TorchVersion, project_version
from wheelmill.pipeline.run import growth_of
from wheelmill.plan.targets import Cell
from wheelmill.release.ledger.records import LedgerRelease, LedgerState, ReleasedWheel
from wheelmill.wheel.findings import Code, Finding, Level
from wheelmill.wheel.name import WheelFile

TAG = ReleaseTag("v2026-11-21")
SHA = Sha256("a" * 64)
OLDER = replace(CELL, version=project_version("0.9"))
OTHER_TORCH = replace(CELL, torch=TorchVersion(2, 10))
OTHER_PYTHON = replace(CELL, python=PythonVersion(3, 12))


def published(*wheels: tuple[Cell | None, int]) -> LedgerState:
    """A release of wheels of some sizes, each named by its place."""
    released = tuple(
        ReleasedWheel(filename=f"{place}.whl", sha256=SHA, size=size, cell=cell)
        for place, (cell, size) in enumerate(wheels)
    )
    release = LedgerRelease(tag=TAG, manifest=SHA, published_at=datetime(2026, 11, 21, tzinfo=UTC), wheels=released)
    return LedgerState(releases={TAG: release})


def growth(size: int, *wheels: tuple[Cell | None, int]) -> Finding | None:
    return growth_of(WheelFile(path=Path("demo.whl"), sha256=SHA, size=size), CELL, published(*wheels))


@pytest.mark.parametrize(("size", "is_told"), [(1000, False), (1199, False), (1200, True), (500, False)])
def test_a_fifth_more_is_told(*, size: int, is_told: bool) -> None:
    assert (growth(size, (OLDER, 1000)) is not None) is is_told


def test_it_warns_and_names_the_other() -> None:
    finding = growth(1500, (OLDER, 1000))
    assert finding == Finding(code=Code.GROWN, detail="1500 bytes, 50 % more than the published 0.whl, which has 1000")
    assert finding.code.level is Level.WARN


@pytest.mark.parametrize(
    "others",
    [
        ((OLDER, 9), (CELL, 1000)),
        ((OTHER_TORCH, 9), (CELL, 1000)),
        ((OTHER_PYTHON, 9), (CELL, 1000)),
        ((replace(OTHER_TORCH, version=OLDER.version), 9), (OLDER, 1000)),
    ],
    ids=["newest version", "same torch", "same Python", "of an older version, too"],
)
def test_the_nearest_one_counts(others: tuple[tuple[Cell, int], ...]) -> None:
    assert growth(1100, *others) is None
    assert growth(1100, *others[:1]), "the farther one alone"


def test_wheels_that_it_does_not_follow_say_nothing() -> None:
    newer = replace(CELL, version=project_version("1.1"))
    other_cuda = replace(CELL, cuda=CudaVersion(12, 8))
    assert growth(1000, (newer, 1), (other_cuda, 1), (None, 1)) is None
    assert growth(1000) is None
