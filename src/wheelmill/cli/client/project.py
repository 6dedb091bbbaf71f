"""The project that a command changes: its file, its environments, and wheels for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement

from wheelmill.cli.client.resolve import (
    SearchOptions,
    add_local_builds,
    demand_attestations,
    no_wheel_error,
    print_resolution,
)
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import Resolution
from wheelmill.errors import UsageError
from wheelmill.names import TorchVersion

if TYPE_CHECKING:
    from wheelmill.client.project.project import Project

ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        help="The project: its file, folder or environment; by default the nearest, else a new one here.",
        metavar="PATH",
    ),
]


def project_of(given: Path | None, target: TargetOptions) -> Project:
    """The project that was named, or that this folder or the nearest above it is; else a new one here."""
    from wheelmill.client.project.find import find_project  # noqa: PLC0415 - tomlkit
    from wheelmill.client.project.journal import undo_what_was_left  # noqa: PLC0415 - the same

    found = find_project(given, target.python_path)
    undone = undo_what_was_left(found.root, say)
    return find_project(given, target.python_path) if undone else found


def lock_folder(project: Project) -> Path:
    """Where a project's ``pylock.toml`` lies: beside its file; of an environment alone, in this folder."""
    return Path.cwd() if project.root == project.environment else project.root


def targets_for(project: Project, target: TargetOptions) -> list[TargetOptions]:
    """One for each Python and platform; both options take several, with commas. The interpreter is the project's.

    Raises:
        UsageError: no Python on this machine fits the project, and none was named.
    """
    pythons = target.python.split(",") if target.python else [None]
    platforms = target.platform.split(",") if target.platform else [None]
    targets = [replace(target, python=python, platform=platform) for python in pythons for platform in platforms]
    if all(each.overrides().is_complete for each in targets):
        return targets
    interpreter = project.find_python()
    if interpreter is None and target.python is None:
        raise UsageError(
            "no-python-fits",
            f"no Python on this machine fits {project.path}",
            hint="install one with 'uv python install', or name one with --python-path or --python",
        )
    return [replace(each, python_path=interpreter) for each in targets]


def resolve_for_all(
    requirements: Sequence[Requirement],
    targets: Sequence[TargetOptions],
    search: SearchOptions,
    torch: TorchVersion | None = None,
    *,
    build: bool = False,
    require_attestation: str | None = None,
) -> tuple[Resolution, ...]:
    """Choose wheels for every target, all with one torch and one CUDA.

    Args:
        requirements: the requirements, at most one for each project.
        targets: the options that say what the wheels are for.
        search: the options that say where to look.
        torch: taken where no torch is installed and none was given.
        build: whether a wheel that nobody has is built; what was built here before is taken in any case.
        require_attestation: the repository that must attest the wheels; None asks for no attestation.

    Raises:
        IntegrityError: a wheel is not attested by that repository.
        NoWheelError: one of them has no wheel for a package, and every source answered.
        NetworkError: one of them has no wheel for a package in the sources that answered.
    """
    found: list[Resolution] = []
    for each in targets:
        environment = each.detect()
        environment = replace(environment, torch=environment.torch or torch)
        if found:
            first = found[0].environment
            environment = replace(environment, torch=first.torch, cuda=first.cuda)
        resolution = resolve(requirements, environment, replace(search.search(), confirm=True))
        print_resolution(resolution)
        if resolution.unresolved:
            resolution = add_local_builds(resolution, requirements, build=build)
        found.append(resolution)
    if any(resolution.unresolved for resolution in found):
        raise no_wheel_error(found)
    demand_attestations(found, require_attestation)
    return tuple(found)
