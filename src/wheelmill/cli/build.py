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
    TorchOption,
    VersionOption,
    config_at,
    filters_of,
    for_this_machine,
    policy_for,
)
from wheelmill.cli.terminal import progress, tell_plan
from wheelmill.errors import BuildError
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
) -> None:
    """Build a package's wheels, without testing them."""
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
