"""What is built for this machine's own GPUs, where nobody has a wheel for it."""

from __future__ import annotations

from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.model import Config
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import Architecture, CudaVersion, Platform, PythonVersion, TorchVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.sample import age_of
from wheelmill.plan.targets import BuildTarget, Filters


def target_here(
    requirement: Requirement,
    config: Config,
    *,
    python: PythonVersion,
    cuda: CudaVersion | None,
    torch: TorchVersion | None,
    platform: Platform,
    architectures: tuple[Architecture, ...],
) -> BuildTarget:
    """What is built: the newest version that was asked for, for these GPUs and no others.

    Raises:
        UsageError: ``packages.yml`` does not have it, or no GPU is known.
        BuildError: no such wheel can be; with the reasons.
    """
    if not architectures:
        raise UsageError("no-gpu", "there is no GPU to build for", hint="name one: --gpu 9.0")
    filters = Filters(
        projects=(canonicalize_name(requirement.name),),
        pythons=(python,),
        cudas=(cuda,) if cuda else (),
        torches=(torch,) if torch else (),
        platforms=(platform,),
        newest_torch=True,
    )
    plan = make_plan(config, filters, published={})
    wanted = [target for target in plan.targets if requirement.specifier.contains(target.cell.version)]
    if not wanted:
        reasons = {skip.reason for skip in plan.skips} or {f"{config.file.name} has no such version"}
        raise BuildError("not-buildable", f"{requirement} cannot be built: {'; '.join(sorted(reasons))}")
    return replace(max(wanted, key=age_of), architectures=architectures, sample=True)
