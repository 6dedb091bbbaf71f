"""``wheelmill build``: wheels from source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    Texts,
    TorchOption,
    VersionOption,
    config_at,
    filters_of,
    for_this_machine,
    policy_for,
)
from wheelmill.cli.target import TargetOptions, requirements_of
from wheelmill.cli.terminal import progress, tell_plan
from wheelmill.config.records import Config
from wheelmill.errors import BuildError, UsageError
from wheelmill.plan.matrix import make_plan


def build(
    project: Annotated[str, typer.Argument(help="A package of packages.yml.", metavar="PROJECT")],
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
    output: Annotated[Path, typer.Option(help="Folder for the wheels.", metavar="DIR")] = Path("out/wheels"),
    here: Annotated[
        bool, typer.Option("--here", help="For the project's Python, torch and this machine's GPUs only; kept.")
    ] = False,
    gpu: Annotated[
        list[str] | None, typer.Option("--gpu", help="With --here: GPUs, 9.0 or sm_90.", metavar="X")
    ] = None,
) -> None:
    """Build a package's wheels, without testing them."""
    if here:
        options = TargetOptions(python=_one(python), torch=_one(torch), cuda=_one(cuda), gpu=gpu)
        _build_here(project, options, version, config_at(config))
        return
    from wheelmill.build.builder import build_wheel  # noqa: PLC0415 - part of the factory extra
    from wheelmill.cli.sandbox import builder_in  # noqa: PLC0415

    filters = filters_of(
        projects=[project],
        version=version,
        python=python,
        cuda=cuda,
        torch=torch,
        platforms=platform,
        force=force,
    )
    filters = for_this_machine(filters)
    policy = policy_for(sandbox, policy)
    configuration = config_at(config)
    planned = make_plan(configuration, filters, published={})
    tell_plan(planned, filters)
    builder = builder_in(sandbox, configuration, memory=memory, cpus=cpus, network=network)
    failures = []
    with progress() as shown:
        for target in planned.targets:
            try:
                build_wheel(target, builder, policy=policy, output=output, progress=shown)
            except BuildError as error:
                shown.step(error.explained)
                failures.append(target.cell.id)
    if failures:
        raise BuildError(f"not built: {', '.join(failures)}")


def _build_here(project: str, options: TargetOptions, version: Texts, config: Config) -> None:
    """Build for the environment that wheels would be chosen for; prints where the wheel is."""
    from wheelmill.build.local import LocalBuilder  # noqa: PLC0415 - part of the factory extra
    from wheelmill.cli.built_here import target_for  # noqa: PLC0415
    from wheelmill.pipeline.here import build_here  # noqa: PLC0415

    (requirement,) = requirements_of([f"{project}=={_one(version)}" if version else project])
    target = target_for(requirement, options.detect(), config)
    with progress() as shown:
        wheel = build_here(target, LocalBuilder(), shown)
    typer.echo(wheel.path)


def _one(texts: Texts) -> str | None:
    """The only value of an option.

    Raises:
        UsageError: there are several.
    """
    if texts and (len(texts) > 1 or "," in texts[0]):
        raise UsageError("--here builds one wheel: give one value for each option")
    return texts[0] if texts else None
