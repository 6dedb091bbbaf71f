"""``wheelmill plan``: wheels to build, and the reasons for skips."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape
from rich.table import Table

from wheelmill.build.provenance import known_failures
from wheelmill.cli.factory.inputs import (
    DEFAULT_STORE,
    ConfigOption,
    FilterOptions,
    PlaceOptions,
    StoreOption,
    config_at,
    read_values,
    store_at,
)
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import ProjectsArgument, of_a_run, with_groups
from wheelmill.cli.shared.terminal import STDOUT
from wheelmill.config.maintenance.amend import added_torches, changed_since
from wheelmill.config.model.config import Config
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import ProjectName, ReleaseTag, TorchVersion
from wheelmill.pipeline.chain import begin_run
from wheelmill.pipeline.matrix_plan import cell_content, matrix_content
from wheelmill.plan.groups import (
    MACHINES,
    TYPICAL_SECONDS,
    Basis,
    Estimate,
    estimate,
    fit_of,
    groups_of,
    without_claimed,
)
from wheelmill.plan.matrix import Missing, find_missing, make_plan
from wheelmill.plan.sample import sample_of, with_sample
from wheelmill.plan.targets import PLAN_SCHEMA, BuildTarget, Cell, FailureOf, Filters, Obstacle, PastBuilds, Plan, Skip
from wheelmill.release.ledger.records import LedgerRun
from wheelmill.release.ledger.releases import published
from wheelmill.release.store import Store
from wheelmill.system.progress import number_of
from wheelmill.wheel.platforms import AUTO_POLICY

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import PlanContent, Planned


_REASONS: Final = 3
"""Maximum number of reasons in a package's line; more are grouped by kind."""

_EXPLAINED: Final = 12
"""Maximum number of packages with reasons in their lines; those of more are summed up below, to fit a screen."""

_BASES: Final[Mapping[Basis, tuple[str, str]]] = {
    Basis.MEASURED: ("", "as published wheels took"),
    Basis.PRIOR: ("~", "by 'seconds' in their entries"),
    Basis.CODE: ("?", "by the number of files that they compile"),
    Basis.GUESS: ("??", f"guessed: {TYPICAL_SECONDS} seconds a GPU architecture, the median of measured packages"),
}
"""Mark and explanation of hours, by their basis."""


def print_plan(planned: Plan, past: PastBuilds, cost: Estimate, *, wheels: bool, skips: bool) -> None:
    """Print the requested tables, or one line per package; then the totals."""
    projects = tuple(_by_project(planned))
    explained = len(projects) <= _EXPLAINED
    if not wheels and not skips:
        _print_overview(projects, past, explained=explained)
    if wheels:
        _print_wheels(planned)
    if skips:
        _print_skips(planned, explained=explained)
    why = "" if explained else f" ({_why(planned.skips)})"
    skipped = f"cells skipped: {len(planned.skips):,}{why}"
    STDOUT.print(f"wheels to build: {len(planned.targets):,}, in {number_of(cost.jobs, 'job')}; {skipped}")
    if planned.targets:
        total = f"estimate: {_in_words(cost.machine_hours)} machine hours, done in {_in_words(cost.hours)}"
        limits = f" ({_in_words(cost.hours_low)} to {_in_words(cost.hours_high)})"
        size = f", {cost.size / 1e9:,.2f} GB of {number_of(cost.wheels, 'wheel')}" if cost.wheels else ""
        STDOUT.print(f"{total}{limits} with {cost.runners:,} at work{size}")
    for basis, share in cost.shares.items():
        if share.wheels:
            mark, words = _BASES[basis]
            counted = number_of(share.wheels, "wheel")
            STDOUT.print(f"  {mark}{_in_words(share.machine_hours)} of them for {counted}, {words}")


def _print_overview(projects: Sequence[tuple[ProjectName, Plan]], past: PastBuilds, *, explained: bool) -> None:
    """Print one line per package: its wheels, their cost, and the reasons for its skips if few packages are shown."""
    table = Table(box=None, pad_edge=False)
    for name in ("package", "wheels", "jobs", "hours", "newest torch"):
        table.add_column(name, justify="left" if name == "package" else "right", no_wrap=True)
    if explained:
        table.add_column("why not the others")
    for project, part in projects:
        cost = estimate(part, past)
        marks = [_BASES[basis][0] for basis, share in cost.shares.items() if share.wheels]  # of a project one
        hours = f"{marks[0]}{_in_words(cost.machine_hours)}" if marks else "-"
        counts = (f"{len(part.targets):,}", f"{cost.jobs:,}", hours, _newest_torch(part.targets))
        table.add_row(project, *counts, *([escape(_why(part.skips))] if explained else []))
    STDOUT.print(table)


def _in_words(hours: float) -> str:
    """Format hours with one decimal, but never as zero."""
    return f"{hours:,.1f}" if hours >= 0.05 else "<0.1"  # noqa: PLR2004 - what would be rounded to 0.0


def _newest_torch(targets: Sequence[BuildTarget]) -> str:
    """Return the newest torch of a package's wheels, or the range of torches that each wheel serves."""
    torches = {target.cell.torch for target in targets}
    releases = [torch for torch in torches if isinstance(torch, TorchVersion)]
    return str(max(releases) if releases else next((torch for torch in torches if torch), "-"))


def _print_wheels(planned: Plan) -> None:
    table = Table("project", "version", "Python", "CUDA", "torch", "platform", title="To build", title_justify="left")
    for group in groups_of(planned):
        cell = group.targets[0].cell
        pythons = " ".join(str(target.cell.python) for target in group.targets)
        table.add_row(cell.project, cell.version, pythons, str(cell.cuda), str(cell.torch or "-"), str(cell.platform))
    STDOUT.print(table)


def _print_skips(planned: Plan, *, explained: bool) -> None:
    """Print the skips of each package, one line per reason if few packages are shown, else one per kind of reason."""
    table = Table("cells", "package", "reason", box=None, pad_edge=False, title="Skipped", title_justify="left")
    reasons = ((skip.cell.project, skip.reason if explained else skip.obstacle.value) for skip in planned.skips)
    for (project, reason), count in Counter(reasons).items():
        table.add_row(f"{count:,}", project, escape(reason))
    STDOUT.print(table)


def _print_fit(config: Config) -> None:
    """Print the estimates by code beside the measured seconds of entries, for one GPU architecture and Python."""
    table = Table("package", "estimated", "measured", "ratio", box=None, pad_edge=False, title="Seconds by code")
    for project, estimated, measured in fit_of(config):
        table.add_row(project, f"{estimated:,.0f}", f"{measured:,}", f"{estimated / measured:.2f}")
    STDOUT.print(table)


def report_skips(plan: Plan, filters: Filters) -> None:
    """Print the default torch for each CUDA, and a line for each reason for skips; one line for a sample."""
    if not filters.torches:
        labels = {target.cell.label for target in plan.targets}
        for cuda, torch in sorted((label.cuda, label.torch) for label in labels if label.torch):
            say(f"no --torch given: taking {torch} for CUDA {cuda}")
    sampled = {skip.cell.project: skip.reason for skip in plan.skips if skip.obstacle is Obstacle.NOT_SAMPLED}
    reasons = ((skip.cell.project, sampled.get(skip.cell.project, skip.reason)) for skip in plan.skips)
    for (project, reason), count in Counter(reasons).items():
        say(f"skipped {count:,} of {project}: {reason}")
    if not plan.targets:
        say("nothing to build")


def check_all_buildable(plan: Plan, projects: Sequence[ProjectName]) -> None:
    """Raise BuildError unless each project has a wheel: to build, published, in another run, or one that failed."""
    settled = {Obstacle.PUBLISHED, Obstacle.CLAIMED, Obstacle.FAILED}
    started = {target.cell.project for target in plan.targets}
    started.update(skip.cell.project for skip in plan.skips if skip.obstacle in settled)
    if unbuildable := [project for project in projects if project not in started]:
        reasons = {name: _why([skip for skip in plan.skips if skip.cell.project == name]) for name in unbuildable}
        raise BuildError(
            "nothing-to-build",
            "\n".join(f"{project}: no wheel can be built ({why})" for project, why in reasons.items()),
            hint="'wheelmill plan' lists what can be",
        )


def _by_project(planned: Plan) -> Iterator[tuple[ProjectName, Plan]]:
    targets, skips = defaultdict[ProjectName, list[BuildTarget]](list), defaultdict[ProjectName, list[Skip]](list)
    for target in planned.targets:
        targets[target.cell.project].append(target)
    for skip in planned.skips:
        skips[skip.cell.project].append(skip)
    for project in sorted({*targets, *skips}):
        yield project, replace(planned, targets=tuple(targets[project]), skips=tuple(skips[project]))


def _why(skips: Sequence[Skip]) -> str:
    """List the reasons of one package, the most frequent first."""
    reasons = Counter(skip.reason for skip in skips)
    if len(reasons) > _REASONS:
        reasons = Counter(skip.obstacle.value for skip in skips)
    return "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common())


@dataclass(frozen=True, kw_only=True)
class PartOptions:
    """Options that narrow a plan."""

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
    everything: Annotated[bool, typer.Option("--all", help="Include what the defaults of packages.yml leave out.")] = (
        False
    )
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Plan only the oldest and the usual combination of each package and platform; with --changed-since,"
            " for a torch new in compatibility.yml, the three cheapest packages.",
        ),
    ] = False

    def narrow(self, wanted: Filters, config: Config) -> Filters:
        """Restrict the filters to the named groups, and to packages that changed."""
        groups = read_values("--group", self.group, str)
        changed = changed_since(config, self.since, say_warning) if self.since else None
        return replace(wanted, groups=groups, changed=changed, everything=self.everything)

    def plan(
        self,
        config: Config,
        wanted: Filters,
        published: Mapping[Cell, ReleaseTag],
        failure_of: FailureOf,
        past: PastBuilds,
    ) -> Plan:
        """Plan the wanted cells; a sample of them has the cheapest packages for each new torch, too."""
        planned = make_plan(config, wanted, published, failure_of)
        if not self.sample:
            return planned
        planned = sample_of(planned)
        for torch in added_torches(config, self.since) if self.since else ():
            for_torch = replace(wanted, changed=None, torches=(torch,))
            planned = with_sample(planned, make_plan(config, for_torch, published, failure_of), past)
        return planned


@dataclass(frozen=True, kw_only=True)
class ChainOptions:
    """Options of a plan for a run of many jobs."""

    run: Annotated[
        str | None,
        typer.Option("--run", help="Claim the groups for this run and no other.", metavar="N", callback=of_a_run),
    ] = None
    continues: Annotated[
        str | None,
        typer.Option("--continue", help="Continue what this run left, with its filters.", metavar="N"),
    ] = None

    def record(self, releases: Store) -> LedgerRun | None:
        """Return the record of the run to continue; None if no run is named."""
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
        """Make a plan, and claim its groups for the run, if one is named."""
        if not self.run:
            return plan_without({})
        now = datetime.now(UTC).replace(microsecond=0)
        record = before or LedgerRun(attempt=1, filters=filters, groups=(), since=now)
        record = replace(record, since=now, continues=self.continues or None)
        is_over = functools.cache(releases.is_over)
        return begin_run(releases.ledger, self.run, record, plan_without, is_over=is_over)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Form of a printed plan."""

    runners: Annotated[int, typer.Option(min=1, help="Machines to estimate the hours for.", metavar="N")] = MACHINES
    wheels: Annotated[bool, typer.Option("--wheels", help="List what would be built.")] = False
    skips: Annotated[bool, typer.Option("--skips", help="List what would not be built, each with its reason.")] = False
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Also compare estimates by code with measured builds.")
    ] = False
    as_json: JsonOption = False
    matrix: Annotated[
        bool,
        typer.Option("--matrix", help="Print job matrices as JSON, each with no more wheels than one release takes."),
    ] = False


@with_groups
def plan(
    projects: ProjectsArgument = None,
    *,
    filters: FilterOptions,
    where: PlaceOptions,
    part: PartOptions,
    chain: ChainOptions,
    config: ConfigOption = None,
    store: StoreOption = DEFAULT_STORE,
    output: OutputOptions,
) -> None:
    """Show what would be built, one line per package, and why the rest is skipped."""
    if output.matrix and output.as_json:
        raise UsageError("options-conflict", "--json and --matrix are two forms of JSON; give one of them")
    configuration = config_at(config, check_ranges=True)
    releases = store_at(store)
    before = chain.record(releases)
    asked = filters.of_texts(before.filters) if before else filters.of(projects or ())
    wanted = where.narrow(part.narrow(asked, configuration))
    state = published(releases, say_warning)
    revision, past = releases.ledger.revision_of(state), state.past_builds
    builder = functools.cache(lambda: where.builder(configuration))  # made when it is first needed
    failure_of = known_failures(state.failures, lambda target: builder().place(target), where.resolve_policy())

    def plan_without(claimed: Mapping[str, Skip]) -> Plan:
        planned = part.plan(configuration, wanted, state.cells, failure_of, past)
        for cuda in sorted({target.cell.cuda for target in planned.targets}):
            configuration.images.of_cuda(cuda)  # refuses one without an image, which no container could build or test
        return without_claimed(planned.of_groups(before.groups) if before else planned, claimed)

    planned = chain.begin(releases, before, filters.texts(projects or ()), plan_without)
    missing = find_missing(planned, state.cells)
    cost = estimate(planned, past, runners=output.runners)
    if output.matrix:
        unreleased = before.unreleased if before else {}
        print_json(matrix_content(planned, releases.quotas, past, unreleased, revision, force=wanted.force))
        if not planned.targets and not before:
            check_all_buildable(planned, wanted.projects)
    elif output.as_json:
        print_json(_content(planned, missing, cost))
    else:
        print_plan(planned, past, cost, wheels=output.wheels, skips=output.skips)
        if output.verbose:
            _print_fit(configuration)
    for absence in missing:
        say(str(absence))


def _content(planned: Plan, missing: Iterable[Missing], cost: Estimate) -> PlanContent:
    return {
        "schema": PLAN_SCHEMA,
        **plan_content(planned),
        "missing": [
            {"project": absence.project, "requires": absence.requires, "targets": [cell.id for cell in absence.cells]}
            for absence in missing
        ],
        "estimate": cost,
    }


def plan_content(planned: Plan) -> Planned:
    """Return a plan as JSON, of which each wheel is made as it is written."""
    return {
        "targets": (
            {
                **cell_content(target.cell),
                "policy": AUTO_POLICY,
                "group": target.cell.group,
                "architectures": target.architectures,
            }
            for target in planned.targets
        ),
        "skips": ({**cell_content(skip.cell), "kind": skip.obstacle, "reason": skip.reason} for skip in planned.skips),
        "counts": {
            "cells": len(planned.targets) + len(planned.skips),
            "wheels": len(planned.targets),
            "skips": len(planned.skips),
        },
    }
