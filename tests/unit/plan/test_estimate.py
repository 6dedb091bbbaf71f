"""What a plan will cost."""

from tests.unit.plan.conftest import target
from wheelmill.names import project_name
from wheelmill.plan.estimate import Estimate, estimate
from wheelmill.plan.targets import PastBuild, Plan

DEMO, OTHER = project_name("demo"), project_name("other")


def test_wheels_cost_what_those_of_their_project_cost_on_average() -> None:
    plan = Plan(targets=(target(), target(python="3.12")), skips=())
    past = [PastBuild(project=DEMO, seconds=seconds, size=size) for seconds, size in ((1800, 10), (5400, 30))]
    past.append(PastBuild(project=OTHER, seconds=1e9, size=10**9))
    assert estimate(plan, past) == Estimate(
        wheels=2, unknown=0, jobs=1, runners=1, machine_hours=2.0, hours=2.0, size=40
    )


def test_a_project_that_was_never_built_is_counted_apart() -> None:
    plan = Plan(targets=(target(),), skips=())
    assert estimate(plan, ()) == Estimate(wheels=0, unknown=1, jobs=1, runners=1, machine_hours=0, hours=0, size=0)


def test_long_jobs_start_first_on_as_many_runners_as_there_are() -> None:
    plan = Plan(targets=tuple(target(version=f"{number}.0") for number in range(5)), skips=())
    cost = estimate(plan, [PastBuild(project=DEMO, seconds=3600, size=1)], runners=2)
    assert (cost.jobs, cost.machine_hours, cost.hours) == (5, 5.0, 3.0)
