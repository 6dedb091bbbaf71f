"""``wheelmill run`` and ``wheelmill build``: all stages on one machine, and the one that compiles."""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from wheelmill.build.provenance import Provenance, known_failures
from wheelmill.cli.factory.inputs import (
    BASE_URL_VARIABLE,
    BuildOptions,
    ConfigOption,
    FilterOptions,
    StoreBesideOption,
    check_none_left,
    config_at,
    config_to_change,
    environments_in,
    read_values,
    store_at,
    use_clones,
)
from wheelmill.cli.factory.plan import check_all_buildable, plan_content, report_skips
from wheelmill.cli.factory.smoke import verdict_content
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import TargetOptions, requirements_of, with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.config.fields import Unquoted
from wheelmill.config.maintenance.amend import amend
from wheelmill.config.model.config import Config
from wheelmill.errors import BuildError, CompileError, ReleaseError, SmokeError, TimeIsOver, UsageError, WheelmillError
from wheelmill.names import ProjectName, PythonVersion, ReleaseTag
from wheelmill.pipeline.summary import ReportedFailure
from wheelmill.plan.matrix import find_missing, make_plan
from wheelmill.plan.sample import smallest_sample_of
from wheelmill.plan.targets import Cell, FailureOf, Filters, Plan
from wheelmill.release.ledger.releases import published
from wheelmill.system.progress import number_of, time_limit

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import RunContent
    from wheelmill.pipeline.run import RunOutcome


_STAGES: Final[Mapping[int, tuple[type[WheelmillError], Literal["build", "smoke", "release"]]]] = {
    BuildError.exit_code: (BuildError, "build"),
    SmokeError.exit_code: (SmokeError, "smoke"),
    ReleaseError.exit_code: (ReleaseError, "release"),
}
"""Error and stage of a failure, by exit code."""


class Until(StrEnum):
    """The last stage of a run."""

    SMOKE = "smoke"
    INDEX = "index"


@dataclass(frozen=True, kw_only=True)
class GoalOptions:
    """The last stage of a run, the amount of its work, and the folder for its output."""

    until: Annotated[
        Until, typer.Option(help="The last stage to run; after smoke the tested wheels are in DIR/wheels.")
    ] = Until.INDEX
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help="Build one wheel per package, the newest that can be built here, for one GPU architecture; into"
            " DIR/sample, never released.",
        ),
    ] = False
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Compile everything again, and write the seconds of each package to packages.yml."
        ),
    ] = False
    output: Annotated[Path, typer.Option(help="Folder for wheels, releases and site.", metavar="DIR")] = Path("out")


@with_groups
def run(
    projects: Annotated[list[str], typer.Argument(help="Packages of packages.yml.", metavar="PROJECT...")],
    *,
    filters: FilterOptions,
    where: BuildOptions,
    config: ConfigOption = None,
    store: StoreBesideOption = None,
    goal: GoalOptions,
    as_json: JsonOption = False,
) -> None:
    """Plan, build, smoke, release and index. Published wheels are not built again."""
    from wheelmill.pipeline.run import Factory  # needs the factory extra
    from wheelmill.pipeline.run import run as run_plan  # needs the factory extra

    wanted = where.narrow(filters.for_this_machine(projects))
    wanted = replace(wanted, sample=goal.sample or wanted.sample)
    output = goal.output / "sample" if wanted.sample else goal.output
    publishes = goal.until is Until.INDEX and not wanted.sample
    releases = store_at(store or f"dir:{goal.output / 'releases'}", base_url=os.environ.get(BASE_URL_VARIABLE))
    policy = where.resolve_policy()
    configuration = (config_to_change if goal.measure else config_at)(config, check_ranges=True)
    if goal.measure:
        os.environ["CCACHE_RECACHE"] = "1"  # hits of the compiler cache would be too quick
    builder = where.limited_builder(configuration)
    state = published(releases, say_warning)
    failed = known_failures(state.failures, builder.place, policy)
    sampled = smallest(where, configuration) if goal.sample else None
    planned = plan_run(configuration, wanted, state.cells, failed, sampled)
    with use_clones(where.clone), progress() as shown:
        factory = Factory(
            builder=builder,
            environments=environments_in(where.sandbox, configuration),
            policy=policy,
            store=releases,
            config=configuration,
            output=output,
            progress=shown,
        )
        force = wanted.force or goal.measure
        outcome = run_plan(planned, factory, seconds=where.seconds, publishes=publishes, force=force)
    if as_json:
        print_json(_content(planned, outcome))
    place = f"index: {output / 'site'}" if publishes else f"wheels that passed: {output / 'wheels'}"
    say(f"wheels examined: {len(outcome.verdicts)}; failures: {len(outcome.failures)}; {place}")
    if goal.measure:
        _write_costs(outcome.built, configuration.file)
    _raise_for(outcome, planned, wanted)


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
    """Plan a run, reduced by `sampled`, and report its skips and what its wheels cannot be tested without."""
    planned = make_plan(config, wanted, published, failed)
    planned = sampled(planned) if sampled else planned
    report_skips(planned, wanted)
    missing = find_missing(planned, published)
    if forgotten := [each for each in missing if each.requires not in wanted.projects]:
        names = " ".join(dict.fromkeys((*(each.requires for each in forgotten), *wanted.projects)))
        raise BuildError(
            "requirement-not-in-run",
            "\n".join(map(str, forgotten)),
            hint=f"build it in the same run: wheelmill run {names}",
        )
    for absence in missing:
        say(str(absence))
    return planned


def _content(planned: Plan, outcome: RunOutcome) -> RunContent:
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
            {"id": built.cell.id, "found": built.objects.found, "compiled": built.objects.compiled}
            for built in outcome.built
            if built.objects
        ],
        "left": [target.cell.id for target in outcome.left],
    }


def _write_costs(built: Iterable[Provenance], packages: Path) -> None:
    """Write the time of each package's slowest build and the memory of its largest compiler; Pythons share objects."""
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


def _raise_for(outcome: RunOutcome, planned: Plan, wanted: Filters) -> None:
    """End with the exit code of the first failure, of exceeded time, or of a project without any wheel."""
    if outcome.failures:
        kind, _ = _STAGES[outcome.failures[0].error.exit_code]
        targets = len(planned.targets) + sum(skip.failure is not None for skip in planned.skips)
        raise kind(
            "targets-failed",
            f"{len(outcome.failures)} of {number_of(targets, 'target')} failed; each is explained above",
        )
    check_none_left(outcome.left)
    check_all_buildable(planned, wanted.projects)


@with_groups
def build(
    project: Annotated[str, typer.Argument(help="A package of packages.yml.", metavar="PROJECT")],
    *,
    filters: FilterOptions,
    where: BuildOptions,
    config: ConfigOption = None,
    output: Annotated[Path, typer.Option(help="Folder for the wheels.", metavar="DIR")] = Path("out/wheels"),
    here: Annotated[
        bool, typer.Option("--here", help="Build for the project's Python and torch, and for the GPUs of this machine.")
    ] = False,
    gpu: Annotated[
        list[str] | None, typer.Option("--gpu", help="With --here: for these GPUs instead, 9.0 or sm_90.", metavar="X")
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="Compile only this part of the source, such as 2/4, into the compiler cache, without making a wheel.",
            metavar="N/ALL",
        ),
    ] = None,
) -> None:
    """Build a package's wheels, without testing them."""
    if here and part:
        raise UsageError("options-conflict", "--here builds one wheel on this machine: leave out --part")
    if here and where.arch:
        raise UsageError("options-conflict", "--here builds for GPUs: name them with --gpu instead of --arch")
    configuration = config_at(config, check_ranges=True)
    with use_clones(where.clone):
        if here:
            _build_here(project, filters, gpu, configuration)
        else:
            _build_all(where.narrow(filters.for_this_machine([project])), where, configuration, output, part)


def _build_all(filters: Filters, where: BuildOptions, config: Config, output: Path, part: str | None) -> None:
    """Build the planned wheels, or a part of each; a failure does not hold up the others."""
    from wheelmill.build.builder import build_part, build_wheel  # needs the factory extra
    from wheelmill.build.compiler_cache import BuildPart

    parts = read_values("--part", [part] if part else (), BuildPart.parse)
    policy = where.resolve_policy()
    planned = make_plan(config, filters, published={})
    report_skips(planned, filters)
    check_all_buildable(planned, filters.projects)
    for lacking in find_missing(planned, published=()):
        say(f"{lacking.project} requires {lacking.requires}: smoke takes its wheel from beside this one")
    builder = where.limited_builder(config)
    failures, left = [], list(planned.targets)
    with suppress(TimeIsOver), progress() as shown, time_limit(where.seconds):
        while left:
            try:
                if parts:
                    build_part(left[0], builder, parts[0], output=output, progress=shown)
                else:
                    build_wheel(left[0], builder, policy=policy, output=output, progress=shown)
            except BuildError as error:
                shown.step(error.explained)
                failures.append(left[0].cell.id)
            del left[0]
    if failures:
        raise BuildError("not-built", f"not built: {', '.join(failures)}")
    check_none_left(left)


def _build_here(project: str, filters: FilterOptions, gpus: list[str] | None, config: Config) -> None:
    from wheelmill.cli.shared.local_builds import build_locally, local_target

    version = _one(filters.version)
    (requirement,) = requirements_of([f"{project}=={version}" if version else project])
    options = TargetOptions(python=_one(filters.python), torch=_one(filters.torch), cuda=_one(filters.cuda), gpu=gpus)
    typer.echo(build_locally(local_target(requirement, options.here().detect(), config)).path)


def _one(texts: list[str] | None) -> str | None:
    if texts and (len(texts) > 1 or "," in texts[0]):
        raise UsageError("one-wheel-only", "--here builds one wheel: give one value for each option")
    return texts[0] if texts else None
