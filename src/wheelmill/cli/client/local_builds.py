"""Wheels that are compiled on this machine, where nobody has built them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.shared.options import CONFIG_VARIABLE
from wheelmill.cli.shared.output import say, say_warning
from wheelmill.cli.shared.target import build_target
from wheelmill.client.records import Candidate, Choice, Resolution, Source, SourceKind, SourceOutcome, TargetEnvironment
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import ProjectName
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import resources
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelFile, WheelName

if TYPE_CHECKING:
    from wheelmill.config.model import Config


def add_local_builds(resolution: Resolution, requirements: Sequence[Requirement], *, build: bool) -> Resolution:
    """Fill in what no source has: with wheels that were built here before, and with new ones.

    Args:
        resolution: the choices from all sources.
        requirements: the requirements of the user, one for each project.
        build: whether what is missing is built; otherwise only what was built before is taken.

    Raises:
        BuildError: a build failed, or no such wheel can be.
    """
    from wheelmill.config.load import load_config  # noqa: PLC0415 - reads YAML

    config = load_config(Path(os.environ.get(CONFIG_VARIABLE) or resources.CONFIG))
    choices, missing = dict(resolution.choices), dict(resolution.unresolved)
    for requirement in requirements:
        project = canonicalize_name(requirement.name)
        if project not in missing or project not in config.packages:
            continue
        wheel = None if build else _earlier_wheel(requirement, resolution.environment, config)
        if build or wheel:
            _warn_of_silent_sources(project, resolution.sources)
        if build:
            wheel = _build(build_target(requirement, resolution.environment, config))
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


def _warn_of_silent_sources(project: ProjectName, outcomes: Iterable[SourceOutcome]) -> None:
    """Print the URLs of sources without an answer: the error for a missing wheel has them, and is not raised."""
    for each in outcomes:
        if each.project == project and each.outcome.is_open:
            say_warning(f"{each.warning}")


def _earlier_wheel(requirement: Requirement, environment: TargetEnvironment, config: Config) -> WheelFile | None:
    """The wheel that was built for an environment on this machine; None if there is none, or none can be built."""
    from wheelmill.build.builder import wheel_kept  # noqa: PLC0415 - only where a wheel is missing

    try:
        return wheel_kept(build_target(requirement, environment, config))
    except (BuildError, UsageError):
        return None


def _build(target: BuildTarget) -> WheelFile:
    from wheelmill.build.builder import build_here  # noqa: PLC0415
    from wheelmill.build.local import LocalBuilder  # noqa: PLC0415 - part of the factory extra
    from wheelmill.cli.shared.terminal import progress  # noqa: PLC0415
    from wheelmill.system.sandbox import check_confinement  # noqa: PLC0415

    check_confinement(say)
    with progress() as shown:
        return build_here(target, LocalBuilder(), shown)


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
        uploaded_at=None,
        yanked=None,
        source=source,
    )
