"""Building a wheel for this machine's own GPUs: nobody else needs it, so it is kept here and not released."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_cache_path

from wheelmill.build.builder import Builder, build_wheel
from wheelmill.build.identity import identity_of, inputs_of, this_machine
from wheelmill.config.model import Config
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import Architecture, CudaVersion, Platform, PythonVersion, TorchVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.sample import age_of
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.platforms import AUTO_POLICY


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
        raise UsageError("no GPU is known to build for", hint="name one: --gpu 9.0")
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
        reasons = {skip.reason for skip in plan.skips} or {"packages.yml has no such version"}
        raise BuildError(f"{requirement} cannot be built: {'; '.join(sorted(reasons))}")
    return replace(max(wanted, key=age_of), architectures=architectures)


def wheel_kept(target: BuildTarget) -> WheelFile | None:
    """The wheel that the same inputs gave before; None when they were not built."""
    wheels = sorted(_folder_of(target).glob("*.whl"))
    return WheelFile.at(wheels[0]) if wheels else None


def build_here(target: BuildTarget, builder: Builder, progress: Progress) -> WheelFile:
    """Build a target and keep its wheel, or take the one that is kept.

    Raises:
        BuildError: it failed; with the last lines of the log.
    """
    if kept := wheel_kept(target):
        progress.step(f"{target.cell.id}: built before with the same inputs")
        return kept
    return build_wheel(target, builder, policy=AUTO_POLICY, output=_folder_of(target), progress=progress).file


def _folder_of(target: BuildTarget) -> Path:
    """A folder of its own for everything that decides how a build goes."""
    return user_cache_path("wheelmill") / "built-here" / identity_of(inputs_of(target, this_machine(), AUTO_POLICY))
