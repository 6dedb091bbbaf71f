"""``wheelmill build``: wheels from source."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.filters import FilterOptions, read_values
from wheelmill.cli.factory.inputs import BuildOptions, ConfigOption, check_none_left, config_at, use_clones
from wheelmill.cli.factory.plan import report_skips
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import TargetOptions, requirements_of, with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.config.model import Config
from wheelmill.errors import BuildError, TimeIsOver, UsageError
from wheelmill.plan.matrix import find_missing, make_plan
from wheelmill.plan.targets import Filters
from wheelmill.system.progress import time_limit


@with_groups
def build(
    project: Annotated[str, typer.Argument(help="A package of packages.yml.", metavar="PROJECT")],
    *,
    filters: FilterOptions,
    where: BuildOptions,
    config: ConfigOption = None,
    output: Annotated[Path, typer.Option(help="Folder for the wheels.", metavar="DIR")] = Path("out/wheels"),
    here: Annotated[
        bool,
        typer.Option(
            "--here",
            help="Build for the project's Python and torch, and for the GPUs of this machine.",
        ),
    ] = False,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", help="With --here: for these GPUs instead, 9.0 or sm_90.", metavar="X"),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="Compile only this part of the source, such as 2/4, into the compiler cache; this makes no wheel.",
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
    """Build what the filters leave, or a part of each; a failure does not hold up the others."""
    from wheelmill.build.builder import build_part, build_wheel  # needs the factory extra
    from wheelmill.build.compiler_cache import BuildPart

    parts = read_values("--part", [part] if part else (), BuildPart.parse)
    policy = where.resolve_policy()
    planned = make_plan(config, filters, published={})
    report_skips(planned, filters)
    for each in find_missing(planned, published=()):
        say(f"{each.project} requires {each.requires}: smoke takes its wheel from beside this one")
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
    """Build for the environment that wheels would be chosen for; prints where the wheel is."""
    from wheelmill.cli.shared.local_builds import build_locally, local_target

    version = _one(filters.version)
    (requirement,) = requirements_of([f"{project}=={version}" if version else project])
    options = TargetOptions(python=_one(filters.python), torch=_one(filters.torch), cuda=_one(filters.cuda), gpu=gpus)
    typer.echo(build_locally(local_target(requirement, options.here().detect(), config)).path)


def _one(texts: list[str] | None) -> str | None:
    """Return the only value of an option."""
    if texts and (len(texts) > 1 or "," in texts[0]):
        raise UsageError("one-wheel-only", "--here builds one wheel: give one value for each option")
    return texts[0] if texts else None
