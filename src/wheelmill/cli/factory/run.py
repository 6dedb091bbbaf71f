"""``wheelmill run``: the whole way."""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from wheelmill.build.provenance import known_failures
from wheelmill.cli.factory.filters import FilterOptions
from wheelmill.cli.factory.inputs import (
    BASE_URL_VARIABLE,
    BuildOptions,
    ConfigOption,
    StoreBesideOption,
    check_none_left,
    config_at,
    config_to_change,
    environments_in,
    store_at,
    use_clones,
)
from wheelmill.cli.factory.plan import plan_content, report_skips
from wheelmill.cli.factory.smoke import verdict_content
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.config.fields import Unquoted
from wheelmill.config.maintenance.amend import amend
from wheelmill.config.model import Config
from wheelmill.errors import BuildError, CompileError, ReleaseError, SmokeError, WheelmillError
from wheelmill.names import ProjectName, PythonVersion, ReleaseTag
from wheelmill.plan.matrix import find_missing, make_plan
from wheelmill.plan.sample import smallest_sample_of
from wheelmill.plan.targets import Cell, FailureOf, Filters, Plan
from wheelmill.release.ledger.releases import published
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from wheelmill.build.provenance import Provenance
    from wheelmill.cli.factory.outputs import RunContent
    from wheelmill.pipeline.run import RunOutcome

_STAGES: Final[Mapping[int, tuple[type[WheelmillError], Literal["build", "smoke", "release"]]]] = {
    BuildError.exit_code: (BuildError, "build"),
    SmokeError.exit_code: (SmokeError, "smoke"),
    ReleaseError.exit_code: (ReleaseError, "release"),
}
"""The word for a failure and its stage, by exit code."""


class Until(StrEnum):
    """The last stage of a run."""

    SMOKE = "smoke"
    INDEX = "index"


@with_groups
def run(
    projects: Annotated[list[str], typer.Argument(help="Packages of packages.yml.", metavar="PROJECT...")],
    *,
    filters: FilterOptions,
    where: BuildOptions,
    config: ConfigOption = None,
    store: StoreBesideOption = None,
    until: Annotated[
        Until, typer.Option(help="The last stage to run; after smoke the tested wheels are in DIR/wheels.")
    ] = Until.INDEX,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Of each package one wheel for one GPU architecture, the newest that can be built here; into"
            " DIR/sample, and never released.",
        ),
    ] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Compile everything again, and write what each package takes to packages.yml."),
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder for wheels, releases and site.", metavar="DIR")] = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Plan, build, smoke, release and index: what is published already is not built again."""
    from wheelmill import pipeline  # needs the factory extra

    wanted = where.narrow(filters.for_this_machine(projects))
    releases = store_at(store or f"dir:{output / 'releases'}", base_url=os.environ.get(BASE_URL_VARIABLE))
    if sample or wanted.sample:
        wanted, until, output = replace(wanted, sample=True), Until.SMOKE, output / "sample"
    policy = where.resolve_policy()
    configuration = (config_to_change if measure else config_at)(config, check_ranges=True)
    if measure:
        os.environ["CCACHE_RECACHE"] = "1"  # what the compiler cache has would be too quick
    builder = where.limited_builder(configuration)
    state = published(releases, say_warning)
    failed = known_failures(state.failures, builder.place, policy)
    planned = plan_run(configuration, wanted, state.cells, failed, smallest(where, configuration) if sample else None)
    publishes = until is Until.INDEX
    with use_clones(where.clone), progress() as shown:
        factory = pipeline.Factory(
            builder=builder,
            environments=environments_in(where.sandbox, configuration),
            policy=policy,
            store=releases,
            config=configuration,
            output=output,
            progress=shown,
        )
        outcome = pipeline.run(
            planned, factory, seconds=where.seconds, publishes=publishes, force=wanted.force or measure
        )
    if as_json:
        print_json(_content(planned, outcome))
    _say_what_came(outcome, output, publishes=publishes)
    if measure:
        _write_costs(outcome.built, configuration.file)
    _raise_for(outcome, planned)


def _say_what_came(outcome: RunOutcome, output: Path, *, publishes: bool) -> None:
    place = f"index: {output / 'site'}" if publishes else f"wheels that passed: {output / 'wheels'}"
    say(f"wheels examined: {len(outcome.verdicts)}; failures: {len(outcome.failures)}; {place}")


def smallest(where: BuildOptions, config: Config) -> Callable[[Plan], Plan]:
    """Make a function that reduces a plan to the smallest sample that this machine can build."""
    python = PythonVersion(sys.version_info.major, sys.version_info.minor)
    return partial(smallest_sample_of, python=python, can_build=lambda target: where.can_build(target, config))


def plan_run(
    config: Config,
    wanted: Filters,
    published: Mapping[Cell, ReleaseTag],
    failed: FailureOf,
    sampled: Callable[[Plan], Plan] | None = None,
) -> Plan:
    """Plan a run, and say what it leaves out and what its wheels cannot be tried without.

    Args:
        config: the packages, and the facts about what can exist.
        wanted: the cells that are wanted.
        published: the cells that a release already holds.
        failed: looks up what became of the same build before.
        sampled: leaves a few targets that stand for the others; None leaves all.
    """
    planned = make_plan(config, wanted, published, failed)
    if sampled:
        planned = sampled(planned)
    report_skips(planned, wanted)
    missing = find_missing(planned, published)
    if forgotten := [each for each in missing if each.requires not in wanted.projects]:
        names = " ".join(dict.fromkeys((*(each.requires for each in forgotten), *wanted.projects)))
        raise BuildError(
            "requirement-not-in-run",
            "\n".join(map(str, forgotten)),
            hint=f"build it in the same run: wheelmill run {names}",
        )
    for each in missing:
        say(str(each))
    return planned


def _content(planned: Plan, outcome: RunOutcome) -> RunContent:
    from wheelmill.pipeline.summary import ReportedFailure  # needs the factory extra

    return {
        "schema": "wheelmill.run/1",
        **plan_content(planned),
        "wheels": [verdict_content(verdict) for verdict in outcome.verdicts],
        "releases": [*outcome.releases],
        "failures": [
            ReportedFailure(
                id=failure.id,
                stage=_STAGES[failure.error.exit_code][1],
                message=failure.error.explained,
                compiler=failure.error.line if isinstance(failure.error, CompileError) else None,
            )
            for failure in outcome.failures
        ],
        "compiler_cache": [
            {
                "id": built.cell.id,
                "found": built.objects.found,
                "compiled": built.objects.compiled,
            }
            for built in outcome.built
            if built.objects
        ],
        "left": [target.cell.id for target in outcome.left],
    }


def _write_costs(built: Iterable[Provenance], packages: Path) -> None:
    """Write what the slowest build of each package took, and its largest compiler; further Pythons share objects."""
    costs: dict[tuple[ProjectName, str], int] = defaultdict(int)
    for wheel in built:
        measured = {"seconds": max(1, round(wheel.seconds / len(wheel.architectures)))}
        if wheel.memory:
            measured["memory_per_job"] = math.ceil(wheel.memory / (1 << 30))
        for key, value in measured.items():
            costs[wheel.cell.project, key] = max(value, costs[wheel.cell.project, key])
    if costs:
        amend(packages, {("packages", *key): Unquoted(str(value)) for key, value in costs.items()})
    for (name, key), value in costs.items():
        unit = "seconds for each GPU architecture" if key == "seconds" else "GB for each compiler"
        say(f"{packages}: {name} takes {value} {unit}")


def _raise_for(outcome: RunOutcome, planned: Plan) -> None:
    """End with the exit code of the first failure, or that of exceeded time."""
    if outcome.failures:
        kind, _ = _STAGES[outcome.failures[0].error.exit_code]
        targets = len(planned.targets) + sum(skip.failure is not None for skip in planned.skips)
        raise kind(
            "targets-failed",
            f"{len(outcome.failures)} of {number_of(targets, 'target')} failed; each is explained above",
        )
    check_none_left(outcome.left)
