"""Runs that continue each other until the work is done, with their claims and remaining work in the ledger.

A run is never restarted. A new run does what it leaves: it plans again, and so sees what was released meanwhile. It
needs only the number of the run before it, and reads the rest from the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from wheelmill.build.provenance import BuildPlace, identity_of, inputs_of
from wheelmill.config.model.config import Config
from wheelmill.names import Sha256
from wheelmill.pipeline.summary import GroupOutcome, clip
from wheelmill.plan.groups import groups_of, waiting_groups
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, KnownFailure, Obstacle, Plan, Skip
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import Claim, LedgerRun, LedgerState, UnreleasedGroup

MAX_ATTEMPTS: Final = 5
"""Runs in a row that produce nothing; after that, a person has to start the next one."""
_MAX_RELEASE_ATTEMPTS: Final = 3
"""Attempts that only release what an earlier run built; later ones build it again."""
_STALE: Final = timedelta(days=1)
"""Lifetime of a claim if its host does not say whether the run has ended."""


def begin_run(
    ledger: Ledger,
    run: str,
    record: LedgerRun,
    plan_without: Callable[[Mapping[str, Skip]], Plan],
    *,
    is_over: Callable[[str], bool | None],
) -> Plan:
    """Plan a run and claim what it builds, also the groups for a later run, so that no other run builds the same.

    ``run`` is the number from the host. The groups of ``record``, the work to continue, are found here.
    ``plan_without`` makes the plan without claimed groups, given a skip of each that names its run. ``is_over`` returns
    whether another run has ended; None if that is unknown. Raises what `Ledger.change` does.
    """
    made: list[Plan] = []

    def claim(state: LedgerState) -> LedgerState:
        """Leave claimed groups to their runs, and claim the rest of the plan for this one."""
        others = {
            group: claim
            for group, claim in state.work.claims.items()
            if claim.run != run and _counts(claim, record.since, is_over)
        }
        plan = plan_without({group: _skip(claim) for group, claim in others.items()})
        made.append(plan)
        cells = {group.id: group.targets[0].cell for group in groups_of(plan)}
        groups = tuple(cells)
        unreleased = {group: each for group, each in record.unreleased.items() if group in groups}
        own = {
            group: Claim(run=run, attempt=record.attempt, since=record.since, cell=cell)
            for group, cell in cells.items()
        }
        required = frozenset[str]().union(*waiting_groups(plan).values())
        waits_for = tuple(sorted(required & others.keys()))
        known = replace(record, groups=groups, unreleased=unreleased, waits_for=waits_for)
        runs = {**state.work.runs, run: known} if groups or record.continues else state.work.runs
        return replace(state, work=replace(state.work, claims={**others, **own}, runs=runs))

    ledger.change(f"run {run} begins", claim)
    return made[-1]


def _counts(claim: Claim, now: datetime, is_over: Callable[[str], bool | None]) -> bool:
    """True if a claim still holds: until its run has ended, or for a day if that is unknown."""
    over = is_over(claim.run)
    return now - claim.since < _STALE if over is None else not over


def _skip(claim: Claim) -> Skip:
    reason = f"run {claim.run} has it since {claim.since:%Y-%m-%d %H:%M} UTC"
    return Skip(cell=claim.cell, obstacle=Obstacle.CLAIMED, reason=reason)


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """Remaining work of a run, and the runs to continue."""

    run: str
    left: LedgerRun | None
    """Run that the next one continues; None if nothing is left."""
    continued: tuple[str, ...]
    """Runs to be continued now: this one, and earlier ones that waited for what is now done."""

    @property
    def goes_on(self) -> bool:
        """True if another run should continue this one."""
        return self.run in self.continued


def end_run(
    ledger: Ledger,
    run: str,
    outcomes: Mapping[str, GroupOutcome],
    failures: Mapping[Sha256, KnownFailure],
    *,
    listed: bool,
) -> RunEnd:
    """End the claims of a run, and record its failures and remaining work.

    ``outcomes`` are by group name. ``failures`` are builds that would fail in the same way again, by the hash of their
    inputs. ``listed`` is true if the index has everything that is released. Raises what `Ledger.change` does.
    """
    record = ledger.read().work.runs.get(run)
    ends: list[RunEnd] = []

    def free(state: LedgerState) -> LedgerState:
        """End the claims of the run, and record what it leaves for the next one."""
        claims = {group: claim for group, claim in state.work.claims.items() if claim.run != run}
        obsolete = {run, record.continues} if record else {run}
        runs = {name: each for name, each in state.work.runs.items() if name not in obsolete}
        if left := record and _left_of(run, record, outcomes, _in_work(claims, runs), listed=listed):
            runs[run] = left
        in_work = _in_work(claims, runs)
        running = {claim.run for claim in claims.values()}
        others = [
            name
            for name, other in runs.items()
            if other.waits_for and name not in running and in_work.isdisjoint(other.waits_for)
        ]
        runs.update({name: replace(runs[name], waits_for=()) for name in others})
        own = [run] if left and left.attempt <= MAX_ATTEMPTS and not left.waits_for else []
        ends.append(RunEnd(run=run, left=left, continued=(*own, *others)))
        return replace(
            state, failures={**state.failures, **failures}, work=replace(state.work, claims=claims, runs=runs)
        )

    ledger.change(f"run {run} ends", free)
    return ends[-1]


def _in_work(claims: Mapping[str, Claim], runs: Mapping[str, LedgerRun]) -> frozenset[str]:
    """Return the groups that runs build, or that the next ones after them will."""
    go_on = (each.groups for each in runs.values() if each.attempt <= MAX_ATTEMPTS)
    return frozenset(claims).union(*go_on)


def known_failures_in(
    outcomes: Iterable[GroupOutcome],
    config: Config,
    place_of: Callable[[BuildTarget], BuildPlace],
    policy: str,
    *,
    now: datetime,
    run: str | None = None,
) -> dict[Sha256, KnownFailure]:
    """Return the builds that would fail again, by the hash of their inputs, from the reports of a run's jobs.

    A job is believed only about its own group. ``place_of`` returns the place where a target was compiled; ``policy``
    is the platform policy of its repair. ``run`` is the address of the run, for people who want to read a whole log.
    """
    known: dict[Sha256, KnownFailure] = {}
    for outcome in outcomes:
        refused = {each.id: each for each in outcome.report.failures if each.compiler} if outcome.report else {}
        for target in make_plan(config, outcome.group.filters, {}).targets if refused else ():
            if failure := refused.get(target.cell.id):
                known[identity_of(inputs_of(target, place_of(target), policy))] = KnownFailure(
                    id=failure.id,
                    target=identity_of(inputs_of(target)),
                    failed_at=now,
                    reason=clip(failure.compiler or ""),
                    log="\n".join(failure.tail),
                    run=run,
                )
    return known


def _left_of(
    run: str, record: LedgerRun, outcomes: Mapping[str, GroupOutcome], in_work: frozenset[str], *, listed: bool
) -> LedgerRun | None:
    """Return the work that a run leaves: groups not begun, or failed for no fault of their source; None if all is done.

    If it began none of these because other runs still build their requirements, it waits for those runs.
    """
    left = tuple(group for group in record.groups if group not in outcomes or outcomes[group].is_open)
    if listed and not left:
        return None
    attempt = 1 if len(left) < len(record.groups) else record.attempt + 1
    begun = not outcomes.keys().isdisjoint(left)
    waits_for = tuple(group for group in record.waits_for if group in in_work and listed and not begun)
    unreleased: dict[str, UnreleasedGroup] = {}
    for group in left:
        if group in outcomes and outcomes[group].state == "unreleased":
            known = record.unreleased.get(group)
            if known is None:
                unreleased[group] = UnreleasedGroup(run=run, wheels=outcomes[group].unreleased)
            elif attempt <= _MAX_RELEASE_ATTEMPTS:
                unreleased[group] = known
    return replace(record, attempt=attempt, groups=left, unreleased=unreleased, waits_for=waits_for)
