"""``wheelmill plan``: what would be built, and why the rest would not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.build.provenance import known_failures
from wheelmill.cli.factory.filters import FilterOptions, read_values
from wheelmill.cli.factory.inputs import DEFAULT_STORE, ConfigOption, StoreOption, config_at, store_at
from wheelmill.cli.factory.plan_tables import print_plan
from wheelmill.cli.factory.sandbox import PlaceOptions
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, plain, print_json, say, say_warning
from wheelmill.config.model import Config
from wheelmill.config.upkeep.amend import added_torches, changed_since
from wheelmill.errors import UsageError
from wheelmill.plan.groups import estimate, without_claimed
from wheelmill.plan.matrix import Missing, find_missing, make_plan
from wheelmill.plan.sample import sample_of, with_sample
from wheelmill.plan.targets import PLAN_SCHEMA, FailureOf, Filters, KnownFailures, Plan, Skip
from wheelmill.release.ledger.records import LedgerRun
from wheelmill.release.ledger.releases import published
from wheelmill.release.store import Store
from wheelmill.wheel.platforms import AUTO_POLICY

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import MissingPackage, Planned
    from wheelmill.cli.factory.outputs import Plan as PlanContent


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
            "--changed-since", help="Only packages that have changed since this commit, branch or tag.", metavar="REF"
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
        typer.Option("--run", help="Claim the groups for this run, so that no other run builds them.", metavar="N"),
    ] = None
    continues: Annotated[
        str | None,
        typer.Option("--continue", help="Continue with what this run left, with its filters.", metavar="N"),
    ] = None

    def record(self, releases: Store) -> LedgerRun | None:
        """What the run to be continued left; None if none is to be.

        Raises:
            UsageError: the ledger does not know it.
        """
        if not self.continues:
            return None
        if record := releases.ledger.read().work.runs.get(self.continues):
            return record
        raise UsageError(
            "run-unknown",
            f"--continue: {releases.ledger.place.name} knows no run {self.continues} that left something",
            hint="make a new plan: what is published is not built again",
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
        int | None,
        typer.Option(min=1, help="Machines to estimate the hours for; one per job by default.", metavar="N"),
    ] = None,
    wheels: Annotated[bool, typer.Option("--wheels", help="List what would be built.")] = False,
    skips: Annotated[bool, typer.Option("--skips", help="List what would not be built, each with its reason.")] = False,
    as_json: JsonOption = False,
    matrix: Annotated[
        bool,
        typer.Option("--matrix", help="Print job matrices as JSON, each with no more wheels than one release takes."),
    ] = False,
) -> None:
    """Say what would be built, one line per package, and why the rest would not."""
    configuration = config_at(config, check_ranges=True)
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
        from wheelmill.pipeline.matrix_plan import matrix_content  # noqa: PLC0415 - all of the pipeline comes with it

        unreleased = before.unreleased if before else {}
        print_json(matrix_content(planned, releases.quotas, past, unreleased, revision, force=wanted.force))
    elif as_json:
        content: PlanContent = {
            "schema": PLAN_SCHEMA,
            **plan_content(planned),
            "missing": list(map(_missing_content, missing)),
            "estimate": plain(cost),
        }
        print_json(content)
    else:
        print_plan(planned, past, cost, wheels=wheels, skips=skips)
    for each in missing:
        say(str(each))


def _missing_content(missing: Missing) -> MissingPackage:
    ids = [cell.id for cell in missing.cells]
    return {"project": missing.project, "requires": missing.requires, "targets": ids}


def _failure_of(failures: KnownFailures, where: PlaceOptions, config: Config) -> FailureOf:
    """Look up what failed before with the same inputs; the builder is made when it is first needed."""
    builder = functools.cache(lambda: where.builder(config))
    return known_failures(failures, lambda target: builder().place(target), where.resolve_policy())


def plan_content(planned: Plan) -> Planned:
    """The plan as the JSON of the contract."""
    from wheelmill.pipeline.matrix_plan import cell_content  # noqa: PLC0415 - as above

    return {
        "targets": [
            {
                **cell_content(target.cell),
                "policy": AUTO_POLICY,
                "group": target.cell.group,
                "architectures": list(map(str, target.architectures)),
            }
            for target in planned.targets
        ],
        "skips": [{**cell_content(skip.cell), "kind": skip.obstacle, "reason": skip.reason} for skip in planned.skips],
        "counts": {
            "cells": len(planned.targets) + len(planned.skips),
            "wheels": len(planned.targets),
            "skips": len(planned.skips),
        },
    }
