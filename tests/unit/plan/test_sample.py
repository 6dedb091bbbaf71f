"""Which few wheels stand for many."""

from dataclasses import replace

from tests.unit.plan.conftest import target
from tests.unit.plan.examples import (
    ARM,
    BLACKWELL,
    CUDA_12,
    CUDA_13,
    HOPPER,
    PACKAGE,
    PY_12,
    PY_13T,
    TORCH_9,
    TORCH_12_RC,
    V1,
    V2,
    X86,
)
from tests.unit.plan.examples import CELL as EXAMPLE
from wheelmill.names import PythonVersion, project_name
from wheelmill.plan.sample import sample_of, smallest_sample_of, with_sample
from wheelmill.plan.targets import BuildTarget, Cell, PastBuild, Plan

PY_9, PY_10, PY_14 = PythonVersion(3, 9), PythonVersion(3, 10), PythonVersion(3, 14)


def of(cell: Cell) -> BuildTarget:
    return replace(target(), cell=cell, pythons=(cell.python,))


def test_the_usual_machine_and_the_oldest_of_each_platform_stand_for_the_others() -> None:
    cells = [
        replace(EXAMPLE, version=version, cuda=cuda, python=python, platform=platform)
        for version in (V1, V2)
        for cuda in (CUDA_13, CUDA_12)
        for python in (PY_10, PY_9, PY_12, PY_14)
        for platform in (X86, ARM)
    ]
    sampled = sample_of(Plan(targets=tuple(map(of, cells)), skips=()))
    chosen = {(each.cell.version, each.cell.cuda, each.cell.python) for each in sampled.targets}
    assert chosen == {(V1, CUDA_12, PY_9), (V2, CUDA_13, PY_12)}
    assert {each.cell.platform for each in sampled.targets} == {X86, ARM}
    assert len(sampled.targets) == 4
    assert len(sampled.skips) == len(cells) - 4


def test_the_usual_machine_has_the_cuda_of_the_newest_torch_on_the_usual_index() -> None:
    newer_cuda = replace(of(EXAMPLE), torch_backend="cu132")
    usual = replace(of(replace(EXAMPLE, cuda=CUDA_12)), torch_backend=None)
    older_torch = replace(usual, cell=replace(usual.cell, torch=TORCH_9), torch_release="2.9.1")
    sampled = sample_of(Plan(targets=(newer_cuda, usual, older_torch), skips=()))
    assert {each.cell for each in sampled.targets} == {usual.cell, older_torch.cell}


def test_where_no_wheel_is_for_the_usual_python_the_newest_stands_for_it() -> None:
    plan = Plan(targets=tuple(of(replace(EXAMPLE, python=python)) for python in (PY_9, PY_10, PY_14)), skips=())
    assert [each.cell.python for each in sample_of(plan).targets] == [PY_9, PY_14]


def test_one_target_stands_for_itself() -> None:
    plan = Plan(targets=(of(EXAMPLE),), skips=())
    assert sample_of(plan) == plan


def test_a_package_without_torch_can_be_sampled() -> None:
    plan = Plan(targets=tuple(of(replace(EXAMPLE, torch=None, python=python)) for python in (PY_9, PY_12)), skips=())
    assert sample_of(plan).targets == plan.targets


def test_the_smallest_sample_is_the_newest_wheel_that_can_be_built_for_one_architecture() -> None:
    """Of several Pythons it is for the one that is surely there."""
    both = replace(target(), architectures=(HOPPER, BLACKWELL))
    cells = [
        replace(EXAMPLE, project=project, version=version, cuda=cuda, python=python)
        for project in (EXAMPLE.project, project_name("other"))
        for version in (V2, V1)
        for cuda in (CUDA_12, CUDA_13)
        for python in (PY_13T, PY_12, PY_9)
    ]
    plan = Plan(targets=tuple(replace(both, cell=cell, pythons=(cell.python,)) for cell in cells), skips=())
    anywhere = smallest_sample_of(plan, python=PY_12, can_build=lambda _target: True)
    assert [(each.cell.id, each.architectures) for each in anywhere.targets] == [
        (f"{project}-2.0+cu130torch2.11-cp312-linux_x86_64", (BLACKWELL,)) for project in ("demo", "other")
    ]
    assert len(anywhere.skips) == len(cells) - 2
    older = smallest_sample_of(plan, python=PY_10, can_build=lambda each: each.cell.cuda == CUDA_12)
    assert older.targets[0].cell.id == "demo-2.0+cu128torch2.11-cp313t-linux_x86_64"
    assert smallest_sample_of(plan, python=PY_12, can_build=lambda _target: False).targets == ()


def test_a_new_torch_is_tried_with_the_packages_that_cost_least() -> None:
    """On one Python with the newest CUDA; one that requires another of ours cannot be built alone."""
    costs = {"dear": 900.0, "cheap": 20.0, "cheaper": 10.0, "middling": 300.0, "bound": 1.0}
    for_torch = [
        of(replace(EXAMPLE, project=project_name(name), torch=torch, cuda=cuda, python=python, platform=platform))
        for name in costs
        for torch in ((TORCH_12_RC, None) if name == "cheap" else (TORCH_12_RC,))
        for cuda in (CUDA_13, CUDA_12)
        for python in (PY_13T, PY_12, PythonVersion(3, 13))
        for platform in (X86, ARM)
    ]
    bound = replace(PACKAGE, requires=(project_name("cheap"),))
    for_torch = [replace(each, package=bound) if each.cell.project == "bound" else each for each in for_torch]
    past = {project_name(name): PastBuild(seconds=cost, size=1) for name, cost in costs.items()}
    anyway = of(EXAMPLE)
    sampled = with_sample(Plan(targets=(anyway,), skips=()), Plan(targets=tuple(for_torch), skips=()), past)
    assert [each.cell.id for each in sampled.targets] == [
        anyway.cell.id,
        *(f"{name}-1.0+cu130torch2.12rc1-cp312-linux_x86_64" for name in ("cheaper", "cheap", "middling")),
    ]


def test_what_is_built_anyway_is_sampled_once() -> None:
    plan = Plan(targets=(of(EXAMPLE),), skips=())
    assert with_sample(plan, plan, {}) == plan
