"""Which targets share a job, and which have to wait."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.plan.conftest import requiring, target
from tests.unit.plan.examples import CUDA_12
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.pipeline.matrix_plan import group_content
from wheelmill.plan.groups import Group, groups_of, waiting_groups, without_claimed
from wheelmill.plan.required import find_missing
from wheelmill.plan.targets import Obstacle, Plan, Skip


def test_pythons_of_one_wheel_share_a_group() -> None:
    targets = (target(python="3.11"), target(version="2.0"), target(python="3.12"))
    groups = groups_of(Plan(targets=targets, skips=()))
    assert [group.targets for group in groups] == [(targets[0], targets[2]), (targets[1],)]
    assert groups[0].id == f"demo-1.0+cu130torch2.11-{targets[0].cell.platform}"


def test_a_group_waits_for_those_it_requires_of_the_same_cuda_and_torch() -> None:
    demo = target()
    user = requiring("user", demo.cell.project)
    elsewhere = replace(user, cell=replace(user.cell, cuda=CUDA_12))
    assert waiting_groups(Plan(targets=(demo, user, elsewhere), skips=())) == {user.cell.group: {demo.cell.group}}
    assert waiting_groups(Plan(targets=(user, elsewhere), skips=())) == {}


def test_a_group_waits_for_one_that_another_run_builds() -> None:
    """It was planned, and failed for want of the wheel."""
    demo = target()
    user = requiring("user", demo.cell.project)
    claimed = Skip(cell=demo.cell, obstacle=Obstacle.CLAIMED, reason="run 1 has it")
    for targets in ((demo, user), (user,)):
        plan = without_claimed(Plan(targets=targets, skips=()), {demo.cell.group: claimed})
        assert [target.cell for target in plan.targets] == [user.cell]
        assert waiting_groups(plan) == {user.cell.group: {demo.cell.group}}
        assert find_missing(plan, ()) == ()


def test_a_group_waits_for_a_wheel_that_serves_its_torch_among_others() -> None:
    demo = target()
    stable = replace(demo, cell=replace(demo.cell, torch=StableTorch(oldest=TorchVersion(2, 9))))
    user = requiring("user", demo.cell.project)
    assert waiting_groups(Plan(targets=(stable, user), skips=())) == {user.cell.group: {stable.cell.group}}


def parts_of(group: Group) -> list[str]:
    """The parts that jobs of their own compile."""
    parts: Any = group_content(group)["parts"]
    assert [part["number"] for part in parts] == list(range(1, len(parts) + 1))
    return [part["part"] for part in parts]


def test_as_many_jobs_compile_a_wheel_as_its_entry_says() -> None:
    divided = replace(target(), package=replace(target().package, seconds=60, shards_per_wheel=3))
    (group,) = groups_of(Plan(targets=(divided,), skips=()))
    assert parts_of(group) == ["1/3", "2/3", "3/3"]


@pytest.mark.parametrize(
    ("hours", "parts"), [(0, []), (5, []), (5.1, ["1/3", "2/3", "3/3"]), (9999, [f"{n}/256" for n in range(1, 257)])]
)
def test_a_wheel_that_takes_longer_than_a_job_may_is_divided(hours: float, parts: list[str]) -> None:
    """One part more than equal ones would need, for they are not equal."""
    seconds = round(hours * 3600 / len(target().architectures))
    long = replace(target(), package=replace(target().package, seconds=seconds or None))
    (group,) = groups_of(Plan(targets=(long,), skips=()))
    assert parts_of(group) == parts
