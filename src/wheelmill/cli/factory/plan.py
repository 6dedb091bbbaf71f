"""``wheelmill plan``: what would be built, and why the rest would not."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from wheelmill.build.identity import known_failures
from wheelmill.cli.factory.filters import FilterOptions, read_values
from wheelmill.cli.factory.inputs import DEFAULT_STORE, ConfigOption, StoreOption, config_at, store_at
from wheelmill.cli.factory.plan_tables import print_plan
from wheelmill.cli.factory.sandbox import PlaceOptions
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say, say_warning
from wheelmill.config.model import Config
from wheelmill.config.upkeep.changes import added_torches, changed_since
from wheelmill.errors import UsageError
from wheelmill.plan.estimate import cost_of, estimate
from wheelmill.plan.groups import Group, groups_of, waiting_groups, without_claimed
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.required import Missing, find_missing
from wheelmill.plan.sample import sample_of, with_sample
from wheelmill.plan.shards import RUN, SHARD, Load, divide
from wheelmill.plan.targets import PLAN_SCHEMA, Cell, FailureOf, Filters, KnownFailures, PastBuilds, Plan, Skip
from wheelmill.release.ledger.records import LedgerRun, UnreleasedGroup
from wheelmill.release.ledger.releases import published
from wheelmill.release.store import Quotas, Store
from wheelmill.wheel.platforms import AUTO_POLICY
from wheelmill.wheel.torch_need import torch_in_json


@dataclass(frozen=True, kw_only=True)
class PartOptions:
    """The options that say which part of a plan is wanted."""

    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="Groups, as --matrix names them. Repeatable, commas allowed.", metavar="X"),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            "--changed-since", help="Only packages that differ from this commit, branch or tag.", metavar="REF"
        ),
    ] = None
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Of each package and platform only the oldest and the newest combination; with --changed-since, of a"
            " torch that is new in compatibility.yml the three packages that cost least.",
        ),
    ] = False

    def narrow(self, wanted: Filters, config: Config) -> Filters:
        """Leave out other groups than those that are named, and packages that did not change."""
        groups = read_values("--group", self.group, str)
        return replace(wanted, groups=groups, changed=changed_since(config, self.since, say) if self.since else None)


@dataclass(frozen=True, kw_only=True)
class ChainOptions:
    """The options of a plan that a run of jobs works on."""

    run: Annotated[
        str | None,
        typer.Option("--run", help="Claim the groups for this run, so that no other one builds them.", metavar="N"),
    ] = None
    continues: Annotated[
        str | None,
        typer.Option("--continue", help="Go on with what this run left, with its filters.", metavar="N"),
    ] = None

    def record(self, releases: Store) -> LedgerRun | None:
        """What the run left that is continued; None where none is.

        Raises:
            UsageError: the ledger does not know it.
        """
        if not self.continues:
            return None
        if record := releases.ledger.read().work.runs.get(self.continues):
            return record
        raise UsageError(
            f"--continue: {releases.ledger.place.name} knows no run {self.continues} that left something",
            hint="plan anew: what is published is not built again",
        )

    def begin(
        self,
        releases: Store,
        before: LedgerRun | None,
        filters: Mapping[str, str],
        plan_without: Callable[[Mapping[str, Skip]], Plan],
    ) -> Plan:
        """Make a plan, and claim its groups where a run works on it."""
        if not self.run:
            return plan_without({})
        from wheelmill.pipeline.chain import begin_run  # noqa: PLC0415 - needs the factory extra

        now = datetime.now(UTC).replace(microsecond=0)
        record = before or LedgerRun(attempt=1, filters=filters, groups=(), since=now)
        record = replace(record, since=now, continues=self.continues or None)
        is_over = functools.cache(releases.is_over)
        return begin_run(releases.ledger, self.run, record, plan_without, is_over=is_over)


@with_groups
def plan(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    *,
    filters: FilterOptions,
    where: PlaceOptions,
    part: PartOptions,
    chain: ChainOptions,
    config: ConfigOption = None,
    store: StoreOption = DEFAULT_STORE,
    runners: Annotated[
        int | None, typer.Option(min=1, help="Machines to estimate the hours for; one per job by default.", metavar="N")
    ] = None,
    wheels: Annotated[bool, typer.Option("--wheels", help="List what would be built.")] = False,
    skips: Annotated[bool, typer.Option("--skips", help="List every reason for what would not.")] = False,
    as_json: JsonOption = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print job matrices as JSON, each of as many wheels as one release takes.")
    ] = False,
) -> None:
    """Say what would be built, a line a package, and why the rest would not."""
    configuration = config_at(config)
    releases = store_at(store)
    before = chain.record(releases)
    asked = filters.of_texts(before.filters) if before else filters.of(projects or ())
    wanted = part.narrow(asked, configuration)
    state = published(releases, say_warning)
    revision, cells = releases.ledger.revision_of(state), state.cells
    failure_of = _failure_of(state.failures, where, configuration)
    past = state.past_builds

    def plan_without(claimed: Mapping[str, Skip]) -> Plan:
        planned = make_plan(configuration, wanted, cells, failure_of)
        if part.sample:
            planned = sample_of(planned)
            for torch in added_torches(configuration, part.since) if part.since else ():
                for_torch = replace(wanted, changed=None, torches=(torch,))
                planned = with_sample(planned, make_plan(configuration, for_torch, cells, failure_of), past)
        return without_claimed(planned.of_groups(before.groups) if before else planned, claimed)

    planned = chain.begin(releases, before, filters.texts(projects or ()), plan_without)
    missing = find_missing(planned, cells)
    cost = estimate(planned, past, runners=runners)
    if matrix:
        unreleased = before.unreleased if before else {}
        content = matrix_content(planned, releases.quotas, past, unreleased, revision)
        print_json("wheelmill.plan-matrix/1", **content, force=wanted.force)
    elif as_json:
        print_json(
            PLAN_SCHEMA, **plan_content(planned), missing=list(map(_missing_content, missing)), estimate=asdict(cost)
        )
    else:
        print_plan(planned, past, cost, wheels=wheels, skips=skips)
    for each in missing:
        say(str(each))


def _missing_content(missing: Missing) -> dict[str, object]:
    ids = [cell.id for cell in missing.cells]
    return {"project": missing.project, "requires": missing.requires, "targets": ids}


def _failure_of(failures: KnownFailures, where: PlaceOptions, config: Config) -> FailureOf:
    """Look up what failed before with the same inputs; the builder, of the factory extra, is made for the first."""
    builder = functools.cache(lambda: where.builder(config))
    return known_failures(failures, lambda target: builder().place(target), where.resolve_policy())


def matrix_content(
    planned: Plan,
    quotas: Quotas,
    past: PastBuilds,
    unreleased: Mapping[str, UnreleasedGroup] | None = None,
    ledger: str | None = None,
) -> dict[str, object]:
    """The shards of one run as GitHub reads them, ``{include: [...]}``, and the groups that are for a later run.

    Args:
        planned: what is to be built, or only to be released.
        quotas: how much the place for releases takes.
        past: what published wheels cost, by which shards are cut.
        unreleased: groups whose wheels an earlier run has built; they are in shards of their own.
        ledger: the state of the ledger that was planned with, which jobs then read without asking for the newest.
    """
    groups = groups_of(planned)
    dependent = waiting_groups(planned)
    ready = [group for group in groups if group.id not in dependent]
    built_by = {name: group.run for name, group in (unreleased or {}).items()}
    told = {"ledger": ledger} if ledger else {}
    contents = {group.id: {**group_content(group), "run": built_by.get(group.id, ""), **told} for group in ready}

    def load_of(group: Group) -> Load:
        cost = cost_of(group, past)
        return Load(
            wheels=len(group.targets),
            size=cost.size,
            machine_hours=0 if group.id in built_by else sum(cost.jobs),
            text=len(json.dumps(contents[group.id])),
        )

    loads = {group.id: load_of(group) for group in ready}
    limit = replace(SHARD, wheels=quotas.wheels or SHARD.wheels)
    runs: dict[str, list[Group]] = {}
    for group in ready:
        runs.setdefault(built_by.get(group.id, ""), []).append(group)
    divided = [shard for own in runs.values() for shard in divide(own, lambda group: loads[group.id], limit)]

    def load_of_all(shard: Sequence[Group]) -> Load:
        return sum((loads[group.id] for group in shard), Load())

    shards, *_later = divide(divided, load_of_all, RUN) or [()]
    taken = {group.id for shard in shards for group in shard}
    return {
        "shards": [{"include": [contents[group.id] for group in shard]} for shard in shards],
        "loads": [_load_content(load_of_all(shard)) for shard in shards],
        "waiting": [group.id for group in groups if group.id not in taken],
    }


def _load_content(load: Load) -> dict[str, object]:
    """What a shard is thought to be, for people."""
    return {"wheels": load.wheels, "size": load.size, "machine_hours": round(load.machine_hours, 1)}


def group_content(group: Group) -> dict[str, object]:
    """A group as a job reads it."""
    cell = cell_content(group.targets[0].cell)
    return {
        **{key: cell[key] for key in ("project", "version", "cuda", "torch", "torch_abi", "platform")},
        "group": group.id,
        "pythons": ",".join(str(python) for target in group.targets for python in target.pythons),
        "wheels": len(group.targets),
        "runner": group.runner,
        "parts": [
            {"number": number, "part": f"{number}/{group.parts}"}
            for number in range(1, group.parts + 1)
            if group.parts > 1
        ],
    }


def plan_content(planned: Plan) -> dict[str, object]:
    """The plan as the JSON of the contract."""
    return {
        "targets": [
            {**cell_content(target.cell), "policy": AUTO_POLICY, "group": target.cell.group}
            for target in planned.targets
        ],
        "skips": [
            {**cell_content(skip.cell), "kind": skip.obstacle.value, "reason": skip.reason} for skip in planned.skips
        ],
        "counts": {
            "cells": len(planned.targets) + len(planned.skips),
            "wheels": len(planned.targets),
            "skips": len(planned.skips),
        },
    }


def cell_content(cell: Cell) -> dict[str, object]:
    """A cell as JSON shows it."""
    return {
        "id": cell.id,
        "project": cell.project,
        "version": cell.version,
        "python": str(cell.python),
        "cuda": str(cell.cuda),
        **torch_in_json(cell.torch),
        "platform": str(cell.platform),
    }
