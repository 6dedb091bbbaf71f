"""Which targets share a job, and which have to wait."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.plan.conftest import requiring, target
from tests.unit.plan.examples import CUDA_12
from wheelmill.cli.factory.plan import group_content
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.plan.groups import Group, groups_of, waiting_groups
from wheelmill.plan.targets import Plan


def test_pythons_of_one_wheel_share_a_group() -> None:
    targets = (target(python="3.11"), target(version="2.0"), target(python="3.12"))
    groups = groups_of(Plan(targets=targets, skips=()))
    assert [group.targets for group in groups] == [(targets[0], targets[2]), (targets[1],)]
    assert groups[0].id == f"demo-1.0+cu130torch2.11-{targets[0].cell.platform}"


def test_a_group_waits_for_those_it_requires_of_the_same_cuda_and_torch() -> None:
    demo = target()
    user = requiring("user", demo.cell.project)
    elsewhere = replace(user, cell=replace(user.cell, cuda=CUDA_12))
    groups = groups_of(Plan(targets=(demo, user, elsewhere), skips=()))
    assert waiting_groups(groups) == (groups[1],)
    assert waiting_groups(groups[1:]) == ()


def test_a_group_waits_for_a_wheel_that_serves_its_torch_among_others() -> None:
    demo = target()
    stable = replace(demo, cell=replace(demo.cell, torch=StableTorch(oldest=TorchVersion(2, 9))))
    groups = groups_of(Plan(targets=(stable, requiring("user", demo.cell.project)), skips=()))
    assert waiting_groups(groups) == (groups[1],)


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
