"""How a plan is spread over jobs."""

from tests.unit.plan.conftest import target
from wheelmill.plan.groups import MAX_JOBS, groups_of, shards_of
from wheelmill.plan.records import Plan


def test_pythons_of_one_wheel_share_a_group() -> None:
    targets = (target(python="3.11"), target(version="2.0"), target(python="3.12"))
    groups = groups_of(Plan(targets=targets, skips=()))
    assert [group.targets for group in groups] == [(targets[0], targets[2]), (targets[1],)]
    assert groups[0].id == "demo-1.0+cu130torch2.11-" + targets[0].cell.platform


def test_600_groups_make_three_shards_and_each_stands_in_one() -> None:
    groups = groups_of(Plan(targets=tuple(target(version=f"1.{n}") for n in range(600)), skips=()))
    shards = shards_of(groups)
    assert [len(shard) for shard in shards] == [MAX_JOBS, MAX_JOBS, 600 - 2 * MAX_JOBS]
    assert [group for shard in shards for group in shard] == list(groups)


def test_an_empty_plan_has_no_shard() -> None:
    assert shards_of(groups_of(Plan(targets=(), skips=()))) == ()
