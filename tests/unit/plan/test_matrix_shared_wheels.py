"""One wheel for several Pythons."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from tests.unit.plan.examples import CONFIG, CUDA_12, DEMO, PACKAGE, PY_12, PY_13T, TORCH_9, V1, X86
from tests.unit.release.conftest import NOW
from wheelmill.config.load import load_config
from wheelmill.config.model.config import Config
from wheelmill.names import CudaVersion, PythonVersion, ReleaseTag, Sha256
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, KnownFailure, Obstacle

PY_11 = PythonVersion(3, 11)
ONE = Filters(projects=(DEMO,), versions=(V1,), cudas=(CUDA_12,), torches=(TORCH_9,), platforms=(X86,))


def configuration(abi: Literal["abi3", "abi3t", "none"], *more: str) -> Config:
    pythons = frozenset({PY_12, PY_11, PY_13T, *map(PythonVersion.parse, more)})
    torch = replace(CONFIG.compatibility.torch[TORCH_9], python={X86: pythons})
    facts = replace(CONFIG.compatibility, torch=replace(CONFIG.compatibility.torch, releases={TORCH_9: torch}))
    return replace(CONFIG, packages={DEMO: replace(PACKAGE, abi=abi)}, compatibility=facts)


def test_the_oldest_python_builds_an_abi3_wheel_for_all_that_can_load_it() -> None:
    planned = make_plan(configuration("abi3"), ONE, {})
    (target,) = planned.targets
    assert target.cell.python == PY_11
    assert target.pythons == (PY_11, PY_12)
    assert {(skip.cell.python, skip.reason) for skip in planned.skips} == {
        (PY_13T, "free-threaded Python does not load abi3 wheels"),
        (PY_12, "the abi3 wheel that Python 3.11 builds is for it too"),
    }


def test_free_threaded_pythons_share_a_wheel_of_their_own_stable_abi() -> None:
    planned = make_plan(configuration("abi3t", "3.15", "3.16t", "3.15t"), ONE, {})
    served = {target.abi: (str(target.cell.python), list(map(str, target.pythons))) for target in planned.targets}
    assert served == {"abi3": ("3.11", ["3.11", "3.12", "3.15"]), "abi3t": ("3.15t", ["3.15t", "3.16t"])}
    assert {(str(skip.cell.python), skip.obstacle, skip.reason) for skip in planned.skips} == {
        ("3.12", Obstacle.SHARED, "the abi3 wheel that Python 3.11 builds is for it too"),
        ("3.15", Obstacle.SHARED, "the abi3 wheel that Python 3.11 builds is for it too"),
        ("3.16t", Obstacle.SHARED, "the abi3t wheel that Python 3.15t builds is for it too"),
        ("3.13t", Obstacle.LEFT_OUT, "abi3t, the stable ABI of free-threaded Python, begins with Python 3.15"),
    }


def test_no_wheel_of_abi3t_is_planned_unless_the_entry_asks_for_it() -> None:
    planned = make_plan(configuration("abi3", "3.15", "3.15t"), ONE, {})
    assert [target.abi for target in planned.targets] == ["abi3"]
    assert {str(skip.cell.python) for skip in planned.skips if skip.obstacle is Obstacle.LEFT_OUT} == {"3.13t", "3.15t"}


def test_a_published_wheel_of_abi3_leaves_that_of_abi3t_to_be_built() -> None:
    config = configuration("abi3t", "3.15t")
    (of_gil, free_threaded) = make_plan(config, ONE, {}).targets
    published = {replace(of_gil.cell, python=python): ReleaseTag("v2026-11-21") for python in of_gil.pythons}
    assert make_plan(config, ONE, published).targets == (free_threaded,)


REAL_LOCK = """\
sdists:
  demo:
    "1.0":
      requires: null
      requires_python: '>=3.10'
      sdist: demo-1.0.tar.gz
      sha256: 1b4d1e7f3f4c9c3b6f0a2d5e8c7b9a0f1e2d3c4b5a69788796a5b4c3d2e1f001
"""


def test_the_oldest_python_that_the_source_and_the_entry_allow_builds_an_abi3_wheel(tmp_path: Path) -> None:
    entry = 'packages: {demo: {versions: ["1.0"], abi: abi3, architectures: ["9.0"]%s}}\n'
    (tmp_path / "packages.lock").write_text(REAL_LOCK)
    wanted = Filters(cudas=(CudaVersion(13, 0),), platforms=(X86,))
    for key, oldest in (("", 10), (', python: ">=3.9"', 10), (', python: ">=3.12"', 12)):
        (tmp_path / "packages.yml").write_text(entry % key)
        (target,) = make_plan(load_config(tmp_path), wanted, {}).targets
        assert target.cell.python == target.pythons[0] == PythonVersion(3, oldest), key


def test_a_wheel_without_an_abi_serves_free_threaded_python_too() -> None:
    (target,) = make_plan(configuration("none"), ONE, {}).targets
    assert target.pythons == (PY_11, PY_12, PY_13T)


def test_a_python_that_the_published_wheel_was_not_tried_on_is_planned() -> None:
    (first,) = make_plan(configuration("abi3"), replace(ONE, pythons=(PY_11,)), {}).targets
    (second,) = make_plan(configuration("abi3"), ONE, {first.cell: ReleaseTag("v2026-11-21")}).targets
    assert second.pythons == (PY_12,)


def test_a_failure_is_one_of_the_wheel_and_not_tried_again_with_another_python() -> None:
    config = configuration("abi3")
    (target,) = make_plan(config, ONE, {}).targets
    failure = KnownFailure(id=target.cell.id, target=Sha256("0" * 64), failed_at=NOW, reason="it does not compile")
    planned = make_plan(config, ONE, {}, lambda each: {target.cell: failure}.get(each.cell))
    assert planned.targets == ()
