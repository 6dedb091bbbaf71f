"""Which targets share a job, which have to wait, and what their builds cost."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.commands import ROOT
from tests.unit.plan.conftest import requiring, target
from tests.unit.plan.examples import CUDA_12, PACKAGE
from wheelmill.config.load import load_config
from wheelmill.config.model.files import LockedSdist, SourceCode
from wheelmill.config.model.package_fields import MAX_JOBS
from wheelmill.names import (
    Architecture,
    PythonVersion,
    Sha256,
    StableTorch,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.pipeline.matrix_plan import group_content, matrix_content
from wheelmill.plan.groups import (
    _BUILDS,
    COMPILATION_SECONDS,
    GUESSED_SIZE,
    SHARD,
    TYPICAL_SECONDS,
    Basis,
    Estimate,
    Group,
    Load,
    Share,
    cost_of,
    divide,
    estimate,
    fit_of,
    further_python,
    groups_of,
    waiting_groups,
    without_claimed,
)
from wheelmill.plan.matrix import find_missing
from wheelmill.plan.targets import BuildTarget, Obstacle, PastBuild, PastBuilds, Plan, Skip
from wheelmill.release.github.store import QUOTAS
from wheelmill.release.ledger.records import UnreleasedGroup
from wheelmill.release.store import Quotas
from wheelmill.system import own_installation


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
@pytest.mark.parametrize("field", ["wheels", "size", "machine_hours", "text", "artifacts"])
def test_every_division_is_a_matrix_within_limits(field: str, loads: list[int], divided: list[list[int]]) -> None:
    """One that is too much by itself stands alone, so that none is left for ever."""
    limit = Load(**(dict.fromkeys(["wheels", "size", "machine_hours", "text", "artifacts"], 1e9) | {field: 10}))
    assert [*map(list, divide(loads, lambda load: Load(**{field: load}), limit))] == divided


def test_the_wheels_of_a_shard_fit_one_release_and_its_groups_one_matrix() -> None:
    assert shards_of([target(version=f"1.{number}") for number in range(300)]) == [200]
    wide = [target(version=f"1.{number}", python=python) for number in range(100) for python in SEVEN]
    assert shards_of(wide) == [238, 238, 224]
    assert shards_of(wide, quotas=Quotas()) == [700]


def test_238_wheels_of_60_gb_are_not_one_shard() -> None:
    """A release job took all of them at once, in 300 minutes."""
    wide = [target(version=f"1.{number}", python=python) for number in range(34) for python in SEVEN]
    assert shards_of(wide, published(size=250_000_000)) == [119, 119]
    assert SHARD.size == 120 * 250_000_000


def test_the_jobs_of_a_shard_end_within_a_day_on_20_machines_and_those_of_a_run_within_five() -> None:
    long = tuple(target(version=f"1.{number}") for number in range(175))
    content: Any = matrix_content(Plan(targets=long, skips=()), QUOTAS, published(seconds=16 * 3600))
    assert [load["machine_hours"] for load in content["loads"]] == [480] * 5
    assert len(content["waiting"]) == 25


def test_the_artifacts_of_a_run_are_fewer_than_github_lists() -> None:
    """A group of eight parts uploads twelve; what does not fit waits for a later run."""
    many = [target(version=f"1.{number}") for number in range(300)]
    assert shards_of(many) == [200]
    (divided,) = groups_of(Plan(targets=(replace(many[0], package=replace(PACKAGE, shards_per_wheel=8)),), skips=()))
    assert divided.artifacts == 12
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels-group.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    uploads = [step["with"]["name"].partition("-")[0] for step in steps if "/upload-artifact@" in step.get("uses", "")]
    assert sorted(uploads) == ["attestation", "compiled", "gpu", "report", "wheels"]


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
    targets = [target(version=f"1.{number}", python=python) for number in range(100) for python in SEVEN]
    user = requiring("user", targets[0].cell.project)
    content: Any = matrix_content(Plan(targets=(*targets, user), skips=()), QUOTAS, SMALL)
    names = [[group["group"] for group in shard["include"]] for shard in content["shards"]]
    assert [len(shard) for shard in names] == [34, 34, 32]
    assert sorted(name for shard in names for name in shard) == sorted({each.cell.group for each in targets})
    assert content["waiting"] == [user.cell.group]


def test_a_plan_of_3000_groups_fits_an_output_and_each_shard_a_variable() -> None:
    """The rest is for later runs; GitHub counts an output as UTF-16 and indents what it hands to a job."""
    cell = target().cell
    named = (replace(cell, project=LONG_NAME, version=project_version(f"1.{n}")) for n in range(3000))
    planned = Plan(targets=tuple(replace(target(), cell=each) for each in named), skips=())
    content: Any = matrix_content(planned, QUOTAS, SMALL)
    taken = [group["group"] for shard in content["shards"] for group in shard["include"]]
    assert len(taken) == 200
    assert [*taken, *content["waiting"]] == [each.cell.group for each in planned.targets]
    assert len(json.dumps({"shards": content["shards"]})) * 2 < 1_000_000
    assert max(len(json.dumps(shard, indent=2)) for shard in content["shards"]) < 131_072
    assert len(content["shards"]) <= MAX_JOBS


def test_the_job_of_an_abi3_wheel_is_told_of_every_python_that_it_is_for() -> None:
    built = replace(target(), pythons=(PythonVersion(3, 11), PythonVersion(3, 12)))
    content: Any = matrix_content(Plan(targets=(built,), skips=()), QUOTAS, SMALL)
    (group,) = content["shards"][0]["include"]
    assert (group["pythons"], group["wheels"]) == ("3.11,3.12", 1)


ESTIMATE_DEMO, OTHER = project_name("demo"), project_name("other")
NOTHING = Share(wheels=0, machine_hours=0)


def test_wheels_cost_what_those_of_their_project_cost() -> None:
    plan = Plan(targets=(target(), target(python="3.12")), skips=())
    past = {ESTIMATE_DEMO: PastBuild(seconds=3600, size=20), OTHER: PastBuild(seconds=1e9, size=10**9)}
    assert estimate(plan, past) == Estimate(
        wheels=2,
        unknown=0,
        jobs=1,
        runners=1,
        machine_hours=2.0,
        hours=2.0,
        hours_low=2.0,
        hours_high=2.0,
        size=40,
        shares={
            Basis.MEASURED: Share(wheels=2, machine_hours=2.0),
            Basis.PRIOR: NOTHING,
            Basis.CODE: NOTHING,
            Basis.GUESS: NOTHING,
        },
    )


def test_a_project_that_was_never_built_is_guessed_by_its_gpu_architectures() -> None:
    """The machine hours of unknown wheels were 0.0."""
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    cost = estimate(Plan(targets=(built,), skips=()), {})
    assert (cost.wheels, cost.unknown, cost.size) == (0, 1, 0)
    assert cost.machine_hours == pytest.approx(2 * TYPICAL_SECONDS / 3600)
    assert cost.shares[Basis.GUESS] == Share(wheels=1, machine_hours=cost.machine_hours)


def test_what_its_entry_says_wins_over_a_guess_and_what_was_published_over_both() -> None:
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    built = replace(built, package=replace(built.package, seconds=1800))
    plan = Plan(targets=(built,), skips=())
    assert estimate(plan, {}).shares[Basis.PRIOR] == Share(wheels=1, machine_hours=1.0)
    published = {ESTIMATE_DEMO: PastBuild(seconds=7200, size=1)}
    cost = estimate(plan, published)
    assert (cost.machine_hours, cost.shares[Basis.PRIOR]) == (2.0, NOTHING)


def test_a_further_python_of_a_job_finds_objects_in_the_compiler_cache() -> None:
    one, other = (
        replace(each, architectures=(Architecture(9, 0),), package=replace(each.package, seconds=3600))
        for each in (target(), target(python="3.12"))
    )
    assert estimate(Plan(targets=(one, other), skips=()), {}).machine_hours == pytest.approx(1.14, abs=0.01)
    again = SourceCode(cuda_files=2, bindings=1, includes_python=True)
    targets = [with_code(each, again) for each in (one, other)]
    assert estimate(Plan(targets=tuple(targets), skips=()), {}).machine_hours == pytest.approx(1.85, abs=0.01)


def with_code(built: BuildTarget, code: SourceCode) -> BuildTarget:
    return replace(built, source=LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64), code=code))


def test_a_source_that_was_never_built_is_estimated_by_its_files_and_the_architectures_of_its_cuda_files() -> None:
    two = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    plan = Plan(targets=(with_code(two, SourceCode(cuda_files=3, bindings=1, includes_python=False)),), skips=())
    cost = estimate(plan, {})
    assert cost.machine_hours == pytest.approx(7 * COMPILATION_SECONDS / 3600)
    assert cost.shares[Basis.CODE] == Share(wheels=1, machine_hours=cost.machine_hours)
    entry = replace(plan.targets[0], package=replace(two.package, seconds=1800))
    assert estimate(Plan(targets=(entry,), skips=()), {}).machine_hours == 1.0


def test_the_less_is_known_the_wider_is_the_range() -> None:
    guessed = target()
    prior = replace(guessed, package=replace(guessed.package, seconds=1800))
    by_code = with_code(guessed, SourceCode(cuda_files=3, bindings=1, includes_python=False))
    costs = [estimate(Plan(targets=(each,), skips=()), {}) for each in (prior, by_code, guessed)]
    assert all(cost.hours_low < cost.hours < cost.hours_high for cost in costs)
    assert sorted(costs, key=lambda cost: cost.hours_high / cost.hours_low) == costs


def test_long_jobs_start_first_on_as_many_runners_as_there_are() -> None:
    plan = Plan(targets=tuple(target(version=f"{number}.0") for number in range(5)), skips=())
    cost = estimate(plan, {ESTIMATE_DEMO: PastBuild(seconds=3600, size=1)}, runners=2)
    assert (cost.jobs, cost.machine_hours, cost.hours) == (5, 5.0, 3.0)


def test_more_runners_than_jobs_take_no_memory() -> None:
    cost = estimate(Plan(targets=(target(),), skips=()), {}, runners=10**30)
    assert (cost.runners, cost.hours) == (1, cost.machine_hours)


def test_parts_of_a_wheel_are_jobs_and_the_last_one_waits_for_them() -> None:
    entry = replace(target().package, seconds=3600, shards_per_wheel=4)
    divided = replace(target(), architectures=(Architecture(9, 0),), package=entry)
    plan = Plan(targets=(divided,), skips=())
    cost = estimate(plan, {ESTIMATE_DEMO: PastBuild(seconds=60, size=1)})  # which is what the last job took
    assert cost.jobs == 5
    assert cost.machine_hours == pytest.approx(1 + 5 * 0.1)
    assert cost.hours == pytest.approx(1 / 4 + 2 * 0.1)
    assert cost.shares[Basis.PRIOR].machine_hours == pytest.approx(cost.machine_hours)
    assert estimate(plan, {}, runners=1).hours == pytest.approx(cost.machine_hours)


def test_a_wheel_is_as_large_as_those_of_its_project_or_else_is_taken_for_a_large_one() -> None:
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    (group,) = groups_of(Plan(targets=(built, replace(built, cell=target(python="3.12").cell)), skips=()))
    assert cost_of(group, {ESTIMATE_DEMO: PastBuild(seconds=1, size=20)}).size == 2 * 20
    assert cost_of(group, {}).size == 2 * 2 * GUESSED_SIZE


def test_measured_packages_take_what_their_code_lets_expect_within_a_factor_of_two() -> None:
    """torch-spline-conv's seconds are a fifth of a build for five architectures; warp-rnnt's files include no torch."""
    fitted = fit_of(load_config(own_installation.CONFIG))
    ratios = {project: estimated / measured for project, estimated, measured in fitted}
    near = {project for project, ratio in ratios.items() if 0.5 < ratio < 2}
    assert near >= {"causal-conv1d", "flash-attn", "mamba-ssm", "nerfacc", "torch-cluster", "torch-scatter"}
    assert ratios.keys() - near <= {"torch-spline-conv", "warp-rnnt"}


def test_measured_builds_have_as_many_compilations_as_packages_lock_counts() -> None:
    fit = fit_of(load_config(own_installation.CONFIG))
    locked = {project: round(estimated / COMPILATION_SECONDS) for project, estimated, _ in fit}
    assert locked == {project: compilations for project, (compilations, _) in _BUILDS.items()}


def test_a_further_python_costs_little_unless_kernels_include_python() -> None:
    with_python, without = (SourceCode(cuda_files=1, includes_python=each) for each in (True, False))
    assert 0.8 < further_python(with_python) < 1
    assert further_python(without) == further_python(None) < 0.2
