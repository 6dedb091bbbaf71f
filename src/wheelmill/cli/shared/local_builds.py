"""Wheels that this machine builds for its own GPUs; they stay in its cache and are never released."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_cache_path

from wheelmill.build.builder import build_wheel
from wheelmill.build.provenance import identity_of, inputs_of, this_machine
from wheelmill.cli.shared.commands import say, say_warning
from wheelmill.cli.shared.options import CONFIG_VARIABLE
from wheelmill.cli.shared.terminal import progress
from wheelmill.client.records import Candidate, Choice, Resolution, Source, SourceKind, TargetEnvironment
from wheelmill.config.load import load_config
from wheelmill.config.model.config import Config
from wheelmill.errors import BuildError, UsageError
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.sample import age_of
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system import own_installation
from wheelmill.system.sandbox import check_confinement
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.platforms import AUTO_POLICY


def local_target(requirement: Requirement, environment: TargetEnvironment, config: Config) -> BuildTarget:
    """Return the target for the newest requested version, for the GPUs of an environment and no others."""
    if not environment.gpus:
        raise UsageError("no-gpu", "there is no GPU to build for", hint="name one: --gpu 9.0")
    filters = Filters(
        projects=(canonicalize_name(requirement.name),),
        pythons=(environment.python,),
        cudas=(environment.cuda,) if environment.cuda else (),
        torches=(environment.torch,) if environment.torch else (),
        platforms=(environment.platform,),
        newest_torch=True,
    )
    plan = make_plan(config, filters, published={})
    wanted = [target for target in plan.targets if requirement.specifier.contains(target.cell.version)]
    if not wanted:
        reasons = {skip.reason for skip in plan.skips} or {f"{config.file.name} has no such version"}
        raise BuildError("not-buildable", f"{requirement} cannot be built: {'; '.join(sorted(reasons))}")
    architectures = tuple(sorted({gpu.capability for gpu in environment.gpus}))
    return replace(max(wanted, key=age_of), architectures=architectures, sample=True)


def kept_wheel(target: BuildTarget) -> WheelFile | None:
    """Return the wheel that was built from the same inputs before; None if there is none."""
    wheels = sorted(_folder_of(target).glob("*.whl"))
    return WheelFile.at(wheels[0]) if wheels else None


def build_locally(target: BuildTarget) -> WheelFile:
    """Build a target and keep its wheel, or return the wheel that was kept."""
    from wheelmill.build.local import LocalBuilder  # needs the factory extra

    check_confinement(say)
    with progress() as shown:
        if kept := kept_wheel(target):
            shown.step(f"{target.cell.id}: built before with the same inputs")
            return kept
        folder = _folder_of(target)
        return build_wheel(target, LocalBuilder(), policy=AUTO_POLICY, output=folder, progress=shown).file


def _folder_of(target: BuildTarget) -> Path:
    return user_cache_path("wheelmill") / "built-here" / identity_of(inputs_of(target, this_machine(), AUTO_POLICY))


def add_local_builds(resolution: Resolution, requirements: Sequence[Requirement], *, build: bool) -> Resolution:
    """Fill in what no source has: with wheels that were built here before, or with new ones if ``build`` is set."""
    config = load_config(Path(os.environ.get(CONFIG_VARIABLE) or own_installation.CONFIG))
    choices, missing = dict(resolution.choices), dict(resolution.unresolved)
    for requirement in requirements:
        project = canonicalize_name(requirement.name)
        if project not in missing or project not in config.packages:
            continue
        wheel = None if build else _earlier_wheel(requirement, resolution.environment, config)
        for outcome in resolution.sources if build or wheel else ():  # the error with these URLs is not raised now
            if outcome.project == project and outcome.outcome.is_open:
                say_warning(outcome.message)
        if build:
            wheel = build_locally(local_target(requirement, resolution.environment, config))
        if wheel:
            say(f"  {project}: {wheel.filename}, built on this machine")
            choices[project] = Choice(
                project=project,
                candidate=_candidate(wheel),
                extras=frozenset(requirement.extras),
                requires_dist=requires_dist_of(wheel.path),
            )
            del missing[project]
    return replace(resolution, choices=choices, unresolved=missing)


def _earlier_wheel(requirement: Requirement, environment: TargetEnvironment, config: Config) -> WheelFile | None:
    """Find the wheel that was built for an environment; None if there is none, or none can be built."""
    try:
        return kept_wheel(local_target(requirement, environment, config))
    except (BuildError, UsageError):
        return None


def _candidate(wheel: WheelFile) -> Candidate:
    name = WheelName.parse(wheel.filename)
    source = Source(name="this machine", kind=SourceKind.FIND_LINKS, url=wheel.path.parent.as_uri())
    return Candidate(
        filename=wheel.filename,
        project=name.project,
        version=name.version,
        build=name.build,
        tags=name.tags,
        label=BuiltFor.parse(name.version.local or ""),
        url=wheel.path.as_uri(),
        sha256=wheel.sha256,
        size=wheel.size,
        requires_python=None,
        metadata_sha256=None,
        has_metadata=False,
        yanked=None,
        source=source,
    )
