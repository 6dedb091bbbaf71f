"""One wheel for several torches."""

from collections.abc import Collection
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from tests.unit.plan.examples import ARM, CONFIG, CUDA_12, CUDA_13, DEMO, PACKAGE, PY_12, PY_13T, TORCH_9, V1, X86
from wheelmill.config.model.package_parts import Window
from wheelmill.names import PythonVersion, ReleaseTag, StableTorch, TorchVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Cell, Filters, Plan

STABLE = StableTorch(oldest=TORCH_9)
EVERYTHING = Filters()
STABLE_PACKAGE = replace(PACKAGE, versions=(V1,), torch_abi=STABLE)


def plan_of(filters: Filters = EVERYTHING, published: Collection[Cell] = ()) -> Plan:
    config = replace(CONFIG, packages={DEMO: STABLE_PACKAGE})
    return make_plan(config, filters, dict.fromkeys(published, ReleaseTag("v2026-11-21")))


def test_torch_is_no_axis_and_the_oldest_one_that_there_is_builds_the_wheel() -> None:
    built = {
        (cell.cuda, cell.platform, cell.python): target.torch_release
        for target in plan_of().targets
        for cell in (target.cell,)
    }
    assert built == {
        (CUDA_12, X86, PY_12): "2.9.1",
        (CUDA_12, X86, PY_13T): "2.9.1",
        (CUDA_12, ARM, PY_12): "2.11.0",
        (CUDA_13, X86, PY_12): "2.11.0",
        (CUDA_13, ARM, PY_12): "2.11.0",
    }
    assert {target.cell.torch for target in plan_of().targets} == {STABLE}
    assert {str(target.cell.label) for target in plan_of().targets} == {"cu128", "cu130"}


def test_its_torch_comes_from_where_that_torch_is_for_the_cuda() -> None:
    backends = {(t.cell.cuda, t.cell.platform): t.torch_backend for t in plan_of().targets}
    assert backends == {
        (CUDA_12, X86): None,  # it is the usual one of torch 2.9
        (CUDA_12, ARM): "cu128",
        (CUDA_13, X86): None,
        (CUDA_13, ARM): "cu130",
    }


@pytest.mark.parametrize(("torch", "cudas"), [("2.9", {CUDA_12}), ("2.11", {CUDA_12, CUDA_13}), ("2.8", set())])
def test_it_is_planned_for_a_torch_that_it_serves(torch: str, cudas: set[object]) -> None:
    planned = plan_of(Filters(torches=(TorchVersion.parse(torch),), platforms=(X86,), pythons=(PY_12,)))
    assert {target.cell.cuda for target in planned.targets} == cudas
    assert {skip.cell.cuda: skip.reason for skip in planned.skips} == {
        cuda: f"its wheel for CUDA {cuda} serves torch {served} only"
        for cuda, served in ((CUDA_12, "2.9, 2.11"), (CUDA_13, "2.11"))
        if cuda not in cudas
    }


def test_the_torches_of_other_packages_by_default_do_not_leave_it_out() -> None:
    only_newer = Window(torch=SpecifierSet(">=2.99"))
    ordinary = replace(CONFIG, packages={DEMO: replace(PACKAGE, versions=(V1,), window=only_newer)})
    assert make_plan(ordinary, Filters(), {}).targets == ()
    assert plan_of().targets


def test_what_is_published_for_its_range_is_not_built_again() -> None:
    cells = [target.cell for target in plan_of().targets]
    assert plan_of(published=cells).targets == ()
    needs_no_torch = [replace(cell, torch=None) for cell in cells]
    assert len(plan_of(published=needs_no_torch).targets) == len(cells)


def test_with_the_stable_abi_of_python_it_is_one_wheel_for_each_cuda_and_platform() -> None:
    pythons = frozenset({PythonVersion(3, 11), PY_12})
    facts = CONFIG.compatibility
    pythons_of = dict.fromkeys((X86, ARM), pythons)
    releases = {torch: replace(release, python=pythons_of) for torch, release in facts.torch.items()}
    config = replace(
        CONFIG,
        packages={DEMO: replace(STABLE_PACKAGE, abi="abi3")},
        compatibility=replace(facts, torch=replace(facts.torch, releases=releases)),
    )
    planned = make_plan(config, Filters(), {})
    assert [target.cell.id for target in planned.targets] == [
        "demo-1.0+cu128-cp311-linux_x86_64",
        "demo-1.0+cu128-cp311-linux_aarch64",
        "demo-1.0+cu130-cp311-linux_x86_64",
        "demo-1.0+cu130-cp311-linux_aarch64",
    ]
