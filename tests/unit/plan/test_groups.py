"""How much of a plan is built, and how it is spread over jobs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.plan.conftest import target
from tests.unit.plan.examples import CUDA_12, V1
from wheelmill.cli.factory.plan import group_content, matrix_content
from wheelmill.config.model import MAX_JOBS
from wheelmill.names import ProjectName, PythonVersion, StableTorch, TorchVersion, project_name, project_version
from wheelmill.plan.groups import (
    MAX_ATTESTED,
    MAX_RUN_TEXT,
    MAX_SHARD_TEXT,
    Group,
    groups_of,
    shards_of,
    shards_of_one_run,
    waiting_groups,
)
from wheelmill.plan.targets import BuildTarget, Cell, Plan
from wheelmill.release.github.store import QUOTAS


def small(_group: Group) -> int:
    """Bytes of JSON that never count."""
    return 1


PY_9, PY_10 = PythonVersion(3, 9), PythonVersion(3, 10)


def test_pythons_of_one_wheel_share_a_group() -> None:
    targets = (target(python="3.11"), target(version="2.0"), target(python="3.12"))
    groups = groups_of(Plan(targets=targets, skips=()))
    assert [group.targets for group in groups] == [(targets[0], targets[2]), (targets[1],)]
    assert groups[0].id == f"demo-1.0+cu130torch2.11-{targets[0].cell.platform}"


def test_600_groups_make_three_shards_and_each_stands_in_one() -> None:
    groups = groups_of(Plan(targets=tuple(target(version=f"1.{n}") for n in range(600)), skips=()))
    shards = shards_of(groups, wheels=QUOTAS.wheels, size_of=small)
    assert [len(shard) for shard in shards] == [240, 240, 120]
    assert [group for shard in shards for group in shard] == list(groups)


def test_the_wheels_of_a_shard_fit_one_release_and_its_groups_one_matrix() -> None:
    pythons = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")
    targets = [target(version=f"1.{number}", python=python) for number in range(100) for python in pythons]
    shards = shards_of(groups_of(Plan(targets=tuple(targets), skips=())), wheels=QUOTAS.wheels, size_of=small)
    assert [sum(len(group.targets) for group in shard) for shard in shards] == [238, 238, 224]
    assert all(len(shard) <= MAX_JOBS for shard in shards)


def test_where_a_release_has_no_limit_a_shard_stays_one_matrix_and_one_attestation() -> None:
    pythons = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")
    many = [target(version=f"1.{number}") for number in range(300)]
    assert [
        len(shard) for shard in shards_of(groups_of(Plan(targets=tuple(many), skips=())), wheels=None, size_of=small)
    ] == [256, 44]
    wide = [target(version=f"1.{number}", python=python) for number in range(150) for python in pythons]
    shards = shards_of(groups_of(Plan(targets=tuple(wide), skips=())), wheels=None, size_of=small)
    assert [sum(len(group.targets) for group in shard) for shard in shards] == [1022, 28]
    assert MAX_ATTESTED == 1024


def test_an_empty_plan_has_no_shard() -> None:
    assert shards_of(groups_of(Plan(targets=(), skips=())), wheels=None, size_of=small) == ()


def requiring(project: str, required: ProjectName) -> BuildTarget:
    """A target of another project that needs a wheel of the first one beside it."""
    built = target()
    cell = replace(built.cell, project=project_name(project), version=V1)
    return replace(built, cell=cell, package=replace(built.package, requires=(required,)))


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


def test_the_matrices_hold_each_group_once_and_name_those_that_wait() -> None:
    targets = [target(version=f"1.{number}") for number in range(600)]
    user = requiring("user", targets[0].cell.project)
    content: Any = matrix_content(Plan(targets=(*targets, user), skips=()), QUOTAS)
    names = [[group["group"] for group in shard["include"]] for shard in content["shards"]]
    assert [len(shard) for shard in names] == [240, 240, 120]
    assert sorted(name for shard in names for name in shard) == sorted(each.cell.group for each in targets)
    assert content["waiting"] == [user.cell.group]


def test_a_plan_of_3000_groups_fits_an_output_and_each_shard_a_variable() -> None:
    """The rest is for later runs; GitHub counts an output as UTF-16 and indents what it hands to a job."""
    cell = target().cell
    named = (
        replace(cell, project=project_name("a-package-with-a-long-name"), version=project_version(f"1.{n}"))
        for n in range(3000)
    )
    planned = Plan(targets=tuple(map(of, named)), skips=())
    content: Any = matrix_content(planned, QUOTAS)
    taken = [group["group"] for shard in content["shards"] for group in shard["include"]]
    assert len(taken) > 1000
    assert [*taken, *content["waiting"]] == [each.cell.group for each in planned.targets]
    assert len(json.dumps({"shards": content["shards"]})) * 2 < 1_000_000
    assert max(len(json.dumps(shard, indent=2)) for shard in content["shards"]) < 131_072
    assert len(content["shards"]) <= MAX_JOBS


def test_a_shard_and_a_run_end_where_their_text_would_be_too_long() -> None:
    groups = groups_of(Plan(targets=tuple(target(version=f"1.{n}") for n in range(30)), skips=()))
    shards = shards_of(groups, wheels=QUOTAS.wheels, size_of=lambda _: MAX_SHARD_TEXT // 2)
    assert [len(shard) for shard in shards] == [2] * 15
    assert shards_of_one_run(shards, lambda _: MAX_SHARD_TEXT // 2) == shards[: MAX_RUN_TEXT // MAX_SHARD_TEXT]


def test_the_job_of_an_abi3_wheel_is_told_of_every_python_that_it_is_for() -> None:
    built = replace(target(), pythons=(PythonVersion(3, 11), PythonVersion(3, 12)))
    content: Any = matrix_content(Plan(targets=(built,), skips=()), QUOTAS)
    (group,) = content["shards"][0]["include"]
    assert (group["pythons"], group["wheels"]) == ("3.11,3.12", 1)


def of(cell: Cell) -> BuildTarget:
    return replace(target(), cell=cell)


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
