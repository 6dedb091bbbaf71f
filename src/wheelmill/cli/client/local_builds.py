"""Wheels that are compiled on this machine, where nobody has built them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.shared.options import CONFIG_VARIABLE
from wheelmill.cli.shared.output import say
from wheelmill.cli.shared.target import build_target
from wheelmill.client.records import Candidate, Choice, Resolution
from wheelmill.client.source_records import Source, SourceKind
from wheelmill.errors import BuildError, UsageError
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import resources
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelFile, WheelName


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
        try:
            target = build_target(requirement, resolution.environment, config)
        except (BuildError, UsageError):
            if build:
                raise
            continue
        if wheel := _wheel_of(target, build=build):
            say(f"  {project}: {wheel.filename}, built on this machine")
            choices[project] = Choice(
                project=project,
                candidate=_candidate(wheel),
                extras=frozenset(requirement.extras),
                requires_dist=requires_dist_of(wheel.path),
            )
            del missing[project]
    return replace(resolution, choices=choices, unresolved=missing)


def _wheel_of(target: BuildTarget, *, build: bool) -> WheelFile | None:
    from wheelmill.build.here import build_here, wheel_kept  # noqa: PLC0415

    if not build:
        return wheel_kept(target)
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
