"""A few targets that stand for many."""

from dataclasses import replace

from tests.unit.plan.conftest import target
from tests.unit.plan.examples import ARM, CUDA_12, CUDA_13, PY_12, V1, V2, X86
from tests.unit.plan.examples import CELL as EXAMPLE
from wheelmill.names import PythonVersion
from wheelmill.plan.sample import sample_of
from wheelmill.plan.targets import BuildTarget, Cell, Plan

PY_9, PY_10 = PythonVersion(3, 9), PythonVersion(3, 10)


def of(cell: Cell) -> BuildTarget:
    return replace(target(), cell=cell)


def test_the_oldest_and_the_newest_of_each_platform_stand_for_the_others() -> None:
    cells = [
        replace(EXAMPLE, version=version, cuda=cuda, python=python, platform=platform)
        for version in (V1, V2)
        for cuda in (CUDA_13, CUDA_12)
        for python in (PY_10, PY_9, PY_12)
        for platform in (X86, ARM)
    ]
    sampled = sample_of(Plan(targets=tuple(map(of, cells)), skips=()))
    ends = {(each.cell.version, each.cell.cuda, each.cell.python) for each in sampled.targets}
    assert ends == {(V1, CUDA_12, PY_9), (V2, CUDA_13, PY_12)}
    assert {each.cell.platform for each in sampled.targets} == {X86, ARM}
    assert len(sampled.targets) == 4
    assert len(sampled.skips) == len(cells) - 4


def test_one_target_stands_for_itself() -> None:
    plan = Plan(targets=(of(EXAMPLE),), skips=())
    assert sample_of(plan) == plan


def test_a_package_without_torch_can_be_sampled() -> None:
    plan = Plan(targets=tuple(of(replace(EXAMPLE, torch=None, python=python)) for python in (PY_9, PY_12)), skips=())
    assert sample_of(plan).targets == plan.targets
