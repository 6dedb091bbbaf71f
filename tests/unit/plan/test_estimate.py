"""What a plan is thought to cost, and how that is known."""

from dataclasses import replace

import pytest

from tests.unit.plan.conftest import target
from wheelmill.names import Architecture, project_name
from wheelmill.plan.estimate import GUESSED_SECONDS, GUESSED_SIZE, Basis, Estimate, Share, cost_of, estimate
from wheelmill.plan.groups import groups_of
from wheelmill.plan.targets import PastBuild, Plan

DEMO, OTHER = project_name("demo"), project_name("other")
NOTHING = Share(wheels=0, machine_hours=0)


def test_wheels_cost_what_those_of_their_project_cost() -> None:
    plan = Plan(targets=(target(), target(python="3.12")), skips=())
    past = {DEMO: PastBuild(seconds=3600, size=20), OTHER: PastBuild(seconds=1e9, size=10**9)}
    assert estimate(plan, past) == Estimate(
        wheels=2,
        unknown=0,
        jobs=1,
        runners=1,
        machine_hours=2.0,
        hours=2.0,
        size=40,
        shares={
            Basis.MEASURED: Share(wheels=2, machine_hours=2.0),
            Basis.PRIOR: NOTHING,
            Basis.GUESS: NOTHING,
        },
    )


def test_a_project_that_was_never_built_is_guessed_by_its_gpu_architectures() -> None:
    """The machine hours of unknown wheels were 0.0."""
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    cost = estimate(Plan(targets=(built,), skips=()), {})
    assert (cost.wheels, cost.unknown, cost.size) == (0, 1, 0)
    assert cost.machine_hours == pytest.approx(2 * GUESSED_SECONDS / 3600)
    assert cost.shares[Basis.GUESS] == Share(wheels=1, machine_hours=cost.machine_hours)


def test_what_its_entry_says_wins_over_a_guess_and_what_was_published_over_both() -> None:
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    built = replace(built, package=replace(built.package, seconds=1800))
    plan = Plan(targets=(built,), skips=())
    assert estimate(plan, {}).shares[Basis.PRIOR] == Share(wheels=1, machine_hours=1.0)
    published = {DEMO: PastBuild(seconds=7200, size=1)}
    cost = estimate(plan, published)
    assert (cost.machine_hours, cost.shares[Basis.PRIOR]) == (2.0, NOTHING)


def test_a_further_python_of_a_job_finds_objects_in_the_compiler_cache() -> None:
    one, other = (
        replace(each, architectures=(Architecture(9, 0),), package=replace(each.package, seconds=3600))
        for each in (target(), target(python="3.12"))
    )
    assert estimate(Plan(targets=(one, other), skips=()), {}).machine_hours == pytest.approx(1.15)


def test_long_jobs_start_first_on_as_many_runners_as_there_are() -> None:
    plan = Plan(targets=tuple(target(version=f"{number}.0") for number in range(5)), skips=())
    cost = estimate(plan, {DEMO: PastBuild(seconds=3600, size=1)}, runners=2)
    assert (cost.jobs, cost.machine_hours, cost.hours) == (5, 5.0, 3.0)


def test_more_runners_than_jobs_take_no_memory() -> None:
    cost = estimate(Plan(targets=(target(),), skips=()), {}, runners=10**30)
    assert (cost.runners, cost.hours) == (10**30, cost.machine_hours)


def test_parts_of_a_wheel_are_jobs_and_the_last_one_waits_for_them() -> None:
    entry = replace(target().package, seconds=3600, shards_per_wheel=4)
    divided = replace(target(), architectures=(Architecture(9, 0),), package=entry)
    plan = Plan(targets=(divided,), skips=())
    cost = estimate(plan, {DEMO: PastBuild(seconds=60, size=1)})  # which is what the last job took
    assert cost.jobs == 5
    assert cost.machine_hours == pytest.approx(1 + 5 * 0.1)
    assert cost.hours == pytest.approx(1 / 4 + 2 * 0.1)
    assert cost.shares[Basis.PRIOR].machine_hours == pytest.approx(cost.machine_hours)
    assert estimate(plan, {}, runners=1).hours == pytest.approx(cost.machine_hours)


def test_a_wheel_is_as_large_as_those_of_its_project_or_else_is_taken_for_a_large_one() -> None:
    built = replace(target(), architectures=(Architecture(8, 0), Architecture(9, 0)))
    (group,) = groups_of(Plan(targets=(built, replace(built, cell=target(python="3.12").cell)), skips=()))
    assert cost_of(group, {DEMO: PastBuild(seconds=1, size=20)}).size == 2 * 20
    assert cost_of(group, {}).size == 2 * 2 * GUESSED_SIZE
