"""``wheelmill run``: the whole way."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from wheelmill.cli.options import (
    ConfigOption,
    CpusOption,
    CudaOption,
    ForceOption,
    MemoryOption,
    NetworkOption,
    PlatformOption,
    PolicyOption,
    PythonOption,
    Sandbox,
    SandboxOption,
    TorchOption,
    VersionOption,
    config_at,
    filters_of,
    for_this_machine,
    policy_for,
    store_at,
)
from wheelmill.cli.output import JsonOption, print_json
from wheelmill.cli.plan import plan_content
from wheelmill.cli.smoke import verdict_content
from wheelmill.cli.terminal import STDERR, progress, tell_plan
from wheelmill.errors import BuildError, ReleaseError, SmokeError, TimeOverError
from wheelmill.plan.matrix import make_plan
from wheelmill.release.publish import published_cells

_STAGES: Final = {BuildError.exit_code: "build", SmokeError.exit_code: "smoke", ReleaseError.exit_code: "release"}


class Until(StrEnum):
    """The last stage of a run."""

    SMOKE = "smoke"
    INDEX = "index"


def run(
    projects: Annotated[list[str], typer.Argument(help="Packages of packages.yml.", metavar="PROJECT...")],
    *,
    version: VersionOption = None,
    python: PythonOption = None,
    cuda: CudaOption = None,
    torch: TorchOption = None,
    platform: PlatformOption = None,
    force: ForceOption = False,
    sandbox: SandboxOption = Sandbox.LOCAL,
    policy: PolicyOption = None,
    memory: MemoryOption = None,
    cpus: CpusOption = None,
    network: NetworkOption = "none",
    config: ConfigOption = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Where releases are kept: dir:PATH or github:OWNER/REPO; DIR/releases by default.",
            metavar="STORE",
            envvar="WHEELMILL_STORE",
        ),
    ] = None,
    until: Annotated[
        Until, typer.Option(help="The last stage; after smoke the tested wheels are in DIR/wheels.")
    ] = Until.INDEX,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop builds after these minutes, keep what is done and exit with 3.", metavar="N", min=0),
    ] = None,
    output: Annotated[Path, typer.Option(help="Gets wheels, releases and site.", metavar="DIR")] = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Plan, build, smoke, release and index: what is published already is not built again."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra
    from wheelmill.cli.sandbox import builder_in, rooms_in  # noqa: PLC0415

    filters = filters_of(
        projects=projects,
        version=version,
        python=python,
        cuda=cuda,
        torch=torch,
        platforms=platform,
        force=force,
    )
    policy = policy_for(sandbox, policy)
    configuration = config_at(config)
    releases = store_at(store or f"dir:{output / 'releases'}")
    filters = for_this_machine(filters)
    planned = make_plan(configuration, filters, published_cells(releases.manifests()), releases.failures.read())
    tell_plan(planned, filters)
    builder = builder_in(sandbox, configuration, memory=memory, cpus=cpus, network=network)
    with progress() as shown:
        report = pipeline.run(
            planned.targets,
            builder,
            rooms_in(sandbox, configuration),
            policy=policy,
            store=releases,
            config=configuration,
            output=output,
            progress=shown,
            seconds=None if time_limit is None else time_limit * 60,
            publishes=until is Until.INDEX,
        )
    if as_json:
        print_json(
            "wheelmill.run/1",
            **plan_content(planned),
            wheels=[verdict_content(verdict) for verdict in report.verdicts],
            releases=report.releases,
            failures=[
                {
                    "id": failure.id,
                    "stage": _STAGES[failure.error.exit_code],
                    "message": failure.error.explained,
                }
                for failure in report.failures
            ],
            left=[target.cell.id for target in report.left],
        )
    place = f"index: {output / 'site'}" if until is Until.INDEX else f"wheels that passed: {output / 'wheels'}"
    STDERR.print(f"wheels examined: {len(report.verdicts)}; failures: {len(report.failures)}; {place}")
    if report.failures:
        kind = type(report.failures[0].error)
        raise kind(f"{len(report.failures)} of {len(planned.targets)} targets failed; each is explained above")
    if report.left:
        raise TimeOverError(
            f"the time is over; left: {', '.join(target.cell.id for target in report.left)}",
            hint="the same command goes on: what was compiled is in the compiler cache",
        )
