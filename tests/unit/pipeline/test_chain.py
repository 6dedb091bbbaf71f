"""Runs that go on with each other's work, with a ledger in a folder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from tests.releases import store_in
from tests.unit.pipeline.conftest import planned_group
from tests.unit.plan.conftest import requiring, target
from tests.unit.plan.examples import CONFIG
from wheelmill.build.provenance import BuildPlace, identity_of, inputs_of
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.chain import MAX_ATTEMPTS, begin_run, end_run, known_failures_in
from wheelmill.pipeline.summary import GroupOutcome, JobReport, ReportedFailure, ReportedWheel
from wheelmill.plan.groups import without_claimed
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, Obstacle, Plan, Skip
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import LedgerRun

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
USER = requiring("user", target().cell.project)
"""It requires a wheel of the first group."""
TARGETS = {each.cell.group: each for each in (target(version="1.0"), target(version="2.0"), USER)}
FIRST, SECOND, THIRD = TARGETS
START = LedgerRun(attempt=1, filters={"project": "demo"}, groups=(), since=NOW)
PASSED = ReportedWheel(ok=True, file="a.whl", sha256=Sha256("a"))
OPEN = (None, JobReport(left=("cell",)), JobReport(wheels=(PASSED,)))
"""Ends of a job of which another run may bring more: lost, out of time, not released."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return store_in(tmp_path / "releases").ledger


def nobody_knows(_run: str) -> None:
    """Whether a run has ended."""


def plan_of(*groups: str) -> Callable[[Mapping[str, Skip]], Plan]:
    """Plans some groups, without those that are claimed."""
    plan = Plan(targets=tuple(TARGETS[group] for group in groups), skips=())
    return lambda claimed: without_claimed(plan, claimed)


def begin(
    ledger: Ledger,
    run: str,
    *groups: str,
    record: LedgerRun = START,
    is_over: Callable[[str], bool | None] = nobody_knows,
) -> list[str]:
    """Begin a run that would build some groups, and return those that it builds."""
    planned = begin_run(ledger, run, record, plan_of(*groups), is_over=is_over)
    assert [skip.obstacle for skip in planned.skips] == [Obstacle.CLAIMED] * (len(groups) - len(planned.targets))
    return [each.cell.group for each in planned.targets]


def outcome(group: str, report: JobReport | None, *, released: bool = False) -> tuple[str, GroupOutcome]:
    tags = {"a.whl": ReleaseTag("v2026-11-22")} if released else {}
    return group, GroupOutcome(group=planned_group(target().cell, group), report=report, released=tags)


def end(ledger: Ledger, run: str, *outcomes: tuple[str, GroupOutcome], listed: bool = True) -> LedgerRun | None:
    """End a run, and return what it leaves; None where no other run goes on with it."""
    ended = end_run(ledger, run, dict(outcomes), {}, listed=listed)
    return ended.left if ended.goes_on else None


def go_on(ledger: Ledger, after: str) -> LedgerRun:
    """The record of a run that goes on with what another one left."""
    return replace(ledger.read().work.runs[after], continues=after)


def test_two_runs_never_build_the_same_group(ledger: Ledger) -> None:
    assert begin(ledger, "1", FIRST) == [FIRST]
    assert begin(ledger, "2", FIRST, SECOND) == [SECOND]
    assert end(ledger, "1", outcome(FIRST, JobReport())) is None
    assert {group: claim.run for group, claim in ledger.read().work.claims.items()} == {SECOND: "2"}
    assert begin(ledger, "3", FIRST, SECOND) == [FIRST]


def test_a_skip_says_which_run_has_the_group_and_since_when(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST)
    (skip,) = begin_run(ledger, "2", START, plan_of(FIRST), is_over=nobody_knows).skips
    assert skip.reason == "run 1 has it since 2026-11-22 12:00 UTC"


def test_claims_count_while_their_run_goes_on(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST)
    begin(ledger, "2", SECOND)
    later = replace(START, since=NOW + timedelta(days=3))
    assert begin(ledger, "3", FIRST, SECOND, record=later, is_over={"1": True, "2": False}.get) == [FIRST]


def test_a_claim_that_nobody_can_be_asked_about_counts_for_a_day(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST)
    assert begin(ledger, "2", FIRST, record=replace(START, since=NOW + timedelta(hours=23))) == []
    assert begin(ledger, "3", FIRST, record=replace(START, since=NOW + timedelta(hours=25))) == [FIRST]


def test_a_run_that_began_twice_keeps_its_claims(ledger: Ledger) -> None:
    assert begin(ledger, "1", FIRST) == begin(ledger, "1", FIRST) == [FIRST]


def test_whoever_is_second_to_claim_plans_again(ledger: Ledger, tmp_path: Path) -> None:
    """Another run claims the group between the reading of the ledger and its change."""
    other = store_in(tmp_path / "releases").ledger
    plan = plan_of(FIRST, SECOND)

    def plan_late(claimed: Mapping[str, Skip]) -> Plan:
        if not claimed:
            begin(other, "2", FIRST)
        return plan(claimed)

    planned = begin_run(ledger, "1", START, plan_late, is_over=nobody_knows)
    assert [each.cell.group for each in planned.targets] == [SECOND]
    assert {group: claim.run for group, claim in ledger.read().work.claims.items()} == {FIRST: "2", SECOND: "1"}


@pytest.mark.parametrize("report", OPEN)
def test_a_lost_late_or_unreleased_job_is_left_to_the_next_run(ledger: Ledger, report: JobReport | None) -> None:
    begin(ledger, "1", FIRST, SECOND)
    left = end(ledger, "1", outcome(FIRST, report), outcome(SECOND, JobReport()))
    assert left
    assert (left.groups, left.attempt, left.filters) == ((FIRST,), 1, START.filters)


def test_groups_that_the_run_did_not_begin_are_left_too(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST, SECOND)
    left = end(ledger, "1", outcome(FIRST, JobReport(wheels=(PASSED,)), released=True))
    assert left
    assert left.groups == (SECOND,)


def test_an_index_that_failed_is_left_though_every_group_is_done(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST)
    left = end(ledger, "1", outcome(FIRST, JobReport()), listed=False)
    assert left
    assert left.groups == ()
    begin(ledger, "2", record=go_on(ledger, "1"))
    assert end(ledger, "2") is None
    assert ledger.read().work.runs == {}


def test_a_chain_ends_after_five_runs_that_brought_nothing_and_can_be_taken_up(ledger: Ledger) -> None:
    begin(ledger, "0", FIRST)
    attempts = [end(ledger, "0", outcome(FIRST, None))]
    for run in range(1, MAX_ATTEMPTS):
        begin(ledger, str(run), FIRST, record=go_on(ledger, str(run - 1)))
        attempts.append(end(ledger, str(run), outcome(FIRST, None)))
    assert [each and each.attempt for each in attempts] == [2, 3, 4, 5, None]
    ((last, record),) = ledger.read().work.runs.items()
    assert (last, record.groups) == ("4", (FIRST,))


@pytest.mark.parametrize("brings", [0, 1, 2])
def test_a_chain_ends_whatever_its_runs_bring(ledger: Ledger, brings: int) -> None:
    """What is brought is not planned again, so that each group allows five runs more at most."""
    random, left, runs = Random(brings), [FIRST, SECOND, THIRD], 0  # noqa: S311 - the same every time
    begin(ledger, "0", *left)
    while runs <= MAX_ATTEMPTS * (len(TARGETS) + 1):
        done = random.sample(left, min(len(left), random.randint(0, brings)))
        reports = [outcome(each, JobReport() if each in done else random.choice(OPEN)) for each in left]
        record = end(ledger, str(runs), *reports, listed=random.random() < brings / 2)
        if record is None:
            return
        left, runs = list(record.groups), runs + 1
        begin(ledger, str(runs), *left, record=go_on(ledger, str(runs - 1)))
    pytest.fail(f"{runs} runs, and no end")


def test_a_run_whose_groups_wait_for_another_one_is_continued_when_that_is_done(ledger: Ledger) -> None:
    """It was continued at once, five times in a row, and then no more."""
    begin(ledger, "1", FIRST)
    assert begin(ledger, "2", THIRD) == [THIRD]  # whether or not it would build the first, too
    waiting = end_run(ledger, "2", {}, {}, listed=True)
    assert waiting.left
    assert (waiting.left.waits_for, waiting.continued) == ((FIRST,), ())
    lost = end_run(ledger, "1", dict([outcome(FIRST, None)]), {}, listed=True)
    assert lost.continued == ("1",)  # the second one has to wait for what follows
    begin(ledger, "3", FIRST, record=go_on(ledger, "1"))
    done = end_run(ledger, "3", dict([outcome(FIRST, JobReport())]), {}, listed=True)
    assert (done.left, done.continued) == (None, ("2",))
    assert begin(ledger, "4", THIRD, record=go_on(ledger, "2")) == [THIRD]
    assert end_run(ledger, "5", {}, {}, listed=True).continued == ()  # once


def test_a_run_that_has_other_work_left_does_not_wait(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST)
    begin(ledger, "2", FIRST, SECOND, THIRD)
    assert end(ledger, "2", outcome(SECOND, None))
    begin(ledger, "3", SECOND, THIRD, record=go_on(ledger, "2"))
    assert end(ledger, "3", outcome(SECOND, JobReport())) is None
    assert end_run(ledger, "1", dict([outcome(FIRST, JobReport())]), {}, listed=True).continued == ("3",)


def test_a_run_that_brought_something_is_followed_by_five_more(ledger: Ledger) -> None:
    begin(ledger, "1", FIRST, SECOND, record=replace(START, attempt=5))
    left = end(ledger, "1", outcome(FIRST, JobReport()), outcome(SECOND, None))
    assert left
    assert left.attempt == 1


def test_wheels_that_passed_are_released_by_the_next_runs_and_then_built_again(ledger: Ledger) -> None:
    built = outcome(FIRST, JobReport(wheels=(PASSED,)))
    begin(ledger, "1", FIRST)
    end(ledger, "1", built)
    kept = []
    for run in ("2", "3"):
        record = go_on(ledger, str(int(run) - 1))
        kept.append({group: each.run for group, each in record.unreleased.items()})
        begin(ledger, run, FIRST, record=record)
        end(ledger, run, built)
    assert kept == [{FIRST: "1"}, {FIRST: "1"}]
    assert go_on(ledger, "3").unreleased == {}


def test_a_failure_is_kept_with_its_inputs_and_log_and_believed_of_its_own_group_alone() -> None:
    (first, *_, other) = make_plan(CONFIG, Filters(), {}).targets
    failures = tuple(
        ReportedFailure(id=each.cell.id, stage="build", message="log\n" * 100 + "error: no", compiler="error: no")
        for each in (first, other)
    )
    assert first.cell.group != other.cell.group
    place = BuildPlace(sandbox="docker", compilers=())
    failed = GroupOutcome(group=planned_group(first.cell), report=JobReport(failures=failures))
    known = known_failures_in([failed], CONFIG, lambda _target: place, "manylinux_2_28", now=NOW)
    ((inputs, failure),) = known.items()
    assert inputs == identity_of(inputs_of(first, place, "manylinux_2_28"))
    assert (failure.id, failure.reason) == (first.cell.id, "error: no")
    assert failure.log.splitlines() == ["log"] * 24 + ["error: no"]


def test_a_failure_of_something_else_than_the_compiler_is_not_kept() -> None:
    (first, *_) = make_plan(CONFIG, Filters(), {}).targets
    failure = ReportedFailure(id=first.cell.id, stage="build", message="no network", compiler=None)
    failed = outcome(first.cell.group, JobReport(failures=(failure,)))[1]
    assert known_failures_in([failed], CONFIG, lambda _: BuildPlace(sandbox="docker", compilers=()), "x", now=NOW) == {}
