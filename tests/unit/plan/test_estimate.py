"""What a plan will cost."""

from tests.unit.plan.conftest import target
from wheelmill.names import project_name
from wheelmill.plan.estimate import Estimate, estimate
from wheelmill.plan.records import PastBuild, Plan

DEMO, OTHER = project_name("demo"), project_name("other")


def test_wheels_cost_what_those_of_their_project_cost_on_average() -> None:
    plan = Plan(targets=(target(), target(python="3.12")), skips=())
    past = [PastBuild(project=DEMO, seconds=seconds, size=size) for seconds, size in ((1800, 10), (5400, 30))]
    past.append(PastBuild(project=OTHER, seconds=1e9, size=10**9))
    assert estimate(plan, past) == Estimate(wheels=2, unknown=0, hours=2.0, size=40)


def test_a_project_that_was_never_built_is_counted_apart() -> None:
    plan = Plan(targets=(target(),), skips=())
    assert estimate(plan, ()) == Estimate(wheels=0, unknown=1, hours=0, size=0)
