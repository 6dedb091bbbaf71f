"""How groups are spread over the matrices of a run."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.plan.conftest import requiring, target
from wheelmill.config.model import MAX_JOBS
from wheelmill.names import Architecture, PythonVersion, Sha256, project_name, project_version
from wheelmill.pipeline.matrix_plan import matrix_content
from wheelmill.plan.shards import SHARD, Load, divide
from wheelmill.plan.targets import BuildTarget, PastBuild, PastBuilds, Plan
from wheelmill.release.github.store import QUOTAS
from wheelmill.release.ledger.records import UnreleasedGroup
from wheelmill.release.store import Quotas

DEMO = target().cell.project
LONG_NAME = project_name("a-package-with-a-long-name")
SEVEN = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")


def published(*, seconds: float = 1, size: int = 1) -> PastBuilds:
    """What a wheel costs that was published before."""
    return dict.fromkeys((DEMO, LONG_NAME), PastBuild(seconds=seconds, size=size))


SMALL = published()


def shards_of(
    targets: Sequence[BuildTarget], past: PastBuilds = SMALL, quotas: Quotas = QUOTAS, **options: Any
) -> list[int]:
    """How many wheels each shard of a plan has."""
    content: Any = matrix_content(Plan(targets=tuple(targets), skips=()), quotas, past, **options)
    return [sum(group["wheels"] for group in shard["include"]) for shard in content["shards"]]


@pytest.mark.parametrize(
    ("loads", "divided"),
    [
        ([], []),
        ([4, 6, 1], [[4, 6], [1]]),
        ([11, 1, 99, 2, 3], [[11], [1], [99], [2, 3]]),
        ([0] * (MAX_JOBS + 1), [[0] * MAX_JOBS, [0]]),
    ],
)
@pytest.mark.parametrize("field", ["wheels", "size", "machine_hours", "text"])
def test_each_division_keeps_within_every_limit_and_is_a_matrix(
    field: str, loads: list[int], divided: list[list[int]]
) -> None:
    """One that is too much by itself stands alone, so that none is left for ever."""
    limit = Load(**(dict.fromkeys(["wheels", "size", "machine_hours", "text"], 1e9) | {field: 10}))
    assert [*map(list, divide(loads, lambda load: Load(**{field: load}), limit))] == divided


def test_the_wheels_of_a_shard_fit_one_release_and_its_groups_one_matrix() -> None:
    assert shards_of([target(version=f"1.{number}") for number in range(600)]) == [240, 240, 120]
    wide = [target(version=f"1.{number}", python=python) for number in range(100) for python in SEVEN]
    assert shards_of(wide) == [238, 238, 224]
    assert shards_of([target(version=f"1.{number}") for number in range(300)], quotas=Quotas()) == [MAX_JOBS, 44]


def test_238_wheels_of_60_gb_are_not_one_shard() -> None:
    """A release job took all of them at once, in 300 minutes."""
    wide = [target(version=f"1.{number}", python=python) for number in range(34) for python in SEVEN]
    assert shards_of(wide, published(size=250_000_000)) == [119, 119]
    assert SHARD.size == 120 * 250_000_000


def test_the_jobs_of_a_shard_end_within_a_day_on_20_machines_and_those_of_a_run_within_five() -> None:
    hour_long = [target(version=f"1.{number}") for number in range(2500)]
    content: Any = matrix_content(Plan(targets=tuple(hour_long[:700]), skips=()), QUOTAS, published(seconds=4 * 3600))
    assert [load["machine_hours"] for load in content["loads"]] == [480] * 5
    assert len(content["waiting"]) == 100


def test_groups_that_are_built_take_no_hours_and_stand_in_shards_of_their_own() -> None:
    targets = [target(version=f"1.{number}") for number in range(200)]
    built = UnreleasedGroup(run="7", wheels={"a.whl": Sha256("a")})
    unreleased = {each.cell.group: built for each in targets[:150]}
    assert shards_of(targets, published(seconds=4 * 3600), unreleased=unreleased) == [150, 50]


def test_wheels_of_which_nothing_is_known_are_taken_for_large_ones() -> None:
    architectures = tuple(Architecture(major, 0) for major in (7, 8, 9, 10, 12))
    targets = [replace(target(version=f"1.{number}"), architectures=architectures) for number in range(200)]
    assert shards_of(targets, {}) == [93, 93, 14]


def test_an_empty_plan_has_no_shard() -> None:
    assert shards_of([]) == []


def test_the_matrices_hold_each_group_once_and_name_those_that_wait() -> None:
    targets = [target(version=f"1.{number}") for number in range(600)]
    user = requiring("user", targets[0].cell.project)
    content: Any = matrix_content(Plan(targets=(*targets, user), skips=()), QUOTAS, SMALL)
    names = [[group["group"] for group in shard["include"]] for shard in content["shards"]]
    assert [len(shard) for shard in names] == [240, 240, 120]
    assert sorted(name for shard in names for name in shard) == sorted(each.cell.group for each in targets)
    assert content["waiting"] == [user.cell.group]


def test_a_plan_of_3000_groups_fits_an_output_and_each_shard_a_variable() -> None:
    """The rest is for later runs; GitHub counts an output as UTF-16 and indents what it hands to a job."""
    cell = target().cell
    named = (replace(cell, project=LONG_NAME, version=project_version(f"1.{n}")) for n in range(3000))
    planned = Plan(targets=tuple(replace(target(), cell=each) for each in named), skips=())
    content: Any = matrix_content(planned, QUOTAS, SMALL)
    taken = [group["group"] for shard in content["shards"] for group in shard["include"]]
    assert len(taken) > 1000
    assert [*taken, *content["waiting"]] == [each.cell.group for each in planned.targets]
    assert len(json.dumps({"shards": content["shards"]})) * 2 < 1_000_000
    assert max(len(json.dumps(shard, indent=2)) for shard in content["shards"]) < 131_072
    assert len(content["shards"]) <= MAX_JOBS


def test_the_job_of_an_abi3_wheel_is_told_of_every_python_that_it_is_for() -> None:
    built = replace(target(), pythons=(PythonVersion(3, 11), PythonVersion(3, 12)))
    content: Any = matrix_content(Plan(targets=(built,), skips=()), QUOTAS, SMALL)
    (group,) = content["shards"][0]["include"]
    assert (group["pythons"], group["wheels"]) == ("3.11,3.12", 1)
