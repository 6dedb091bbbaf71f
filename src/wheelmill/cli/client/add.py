"""``wheelmill add``, ``remove`` and ``update``: a project's wheels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.client.downloads import download_bars, wheel_cache
from wheelmill.cli.client.project import ProjectOption, project_file, resolve_for_all, split_targets
from wheelmill.cli.client.resolve import RequirementsArgument, resolution_content
from wheelmill.cli.client.search import SearchOptions
from wheelmill.cli.shared.options import SignerOption, with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.cli.shared.target import TargetOptions, projects_of, requirements_of
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.records import Resolution
from wheelmill.errors import UsageError
from wheelmill.system.progress import Progress

NoSyncOption = Annotated[bool, typer.Option("--no-sync", help="Change the files and install nothing.")]


@with_groups
def add(
    requirements: RequirementsArgument,
    *,
    target: TargetOptions,
    search: SearchOptions,
    project: ProjectOption = None,
    no_sync: NoSyncOption = False,
    build: Annotated[
        bool, typer.Option("--build", help="Compile wheels that no source has, for this machine's GPUs only.")
    ] = False,
    require_attestation: SignerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add wheels to a project: choose them, write them into its pyproject.toml, and install them.

    --python and --platform take several values, with commas; then each has its wheel behind a marker.
    """
    asked = requirements_of(requirements)
    path = project_file(project)
    _add(
        asked,
        target,
        search,
        path,
        no_sync=no_sync,
        build=build,
        require_attestation=require_attestation,
        as_json=as_json,
    )


@with_groups
def update(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    *,
    target: TargetOptions,
    search: SearchOptions,
    project: ProjectOption = None,
    no_sync: NoSyncOption = False,
    require_attestation: SignerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose wheels of a project anew, within what was asked for when they were added."""
    from wheelmill.client.project.pyproject import Pyproject  # noqa: PLC0415 - tomlkit

    path = project_file(project)
    asked = {canonicalize_name(each.name): each for each in Pyproject.read(path).asked}
    wanted = [canonicalize_name(name) for name in projects or asked]
    if missing := [name for name in wanted if name not in asked]:
        raise UsageError(
            f"{path}: {', '.join(missing)} was not added by 'wheelmill add'",
            hint=f"it added {', '.join(sorted(asked)) or 'nothing'}",
        )
    if not wanted:
        raise UsageError(f"{path}: there is nothing to update", hint="'wheelmill add' adds packages")
    again = [asked[name] for name in wanted]
    _add(again, target, search, path, no_sync=no_sync, require_attestation=require_attestation, as_json=as_json)


@with_groups
def remove(
    projects: Annotated[list[str], typer.Argument(help="Packages.", metavar="PROJECT...")],
    *,
    target: TargetOptions,
    project: ProjectOption = None,
    no_sync: NoSyncOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take packages out of a project and its environment."""
    from wheelmill.client.install.installer import installer_for  # noqa: PLC0415 - only what changes things
    from wheelmill.client.project.change import remove_packages  # noqa: PLC0415
    from wheelmill.client.project.uv_project import UvProject  # noqa: PLC0415
    from wheelmill.installers.uv import find_uv  # noqa: PLC0415

    names = projects_of(projects)
    path = project_file(project)
    with download_bars() as shown:

        def install() -> None:
            if no_sync:
                return
            if uv := find_uv():
                UvProject(directory=path.parent, uv=uv, python=None, progress=shown).sync([])
            elif interpreter := target.detect().interpreter:
                installer_for(interpreter, shown).uninstall(names)

        remove_packages(path, names, install)
    say(f"removed {', '.join(names)} from {path}")
    if as_json:
        print_json("wheelmill.remove/1", project=str(path), removed=names)


def _add(
    asked: Sequence[Requirement],
    target: TargetOptions,
    search: SearchOptions,
    path: Path,
    *,
    no_sync: bool,
    require_attestation: str | None,
    as_json: bool,
    build: bool = False,
) -> None:
    from wheelmill.client.project.change import add_wheels, find_torch_pin  # noqa: PLC0415 - only what changes things

    torch = find_torch_pin(path)
    resolutions = resolve_for_all(
        asked, split_targets(target), search, torch, build=build, require_attestation=require_attestation
    )
    with wheel_cache(search) as (cache, shown):

        def install() -> None:
            if not no_sync:
                _install(resolutions, path, cache, shown)

        change = add_wheels(path, asked, resolutions, install)
    for note in change.notes:
        say(f"note: {note}")
    say(f"{'changed' if change.changed else 'nothing to change in'} {path}")
    if as_json:
        print_json(
            "wheelmill.add/1",
            project=str(path),
            changed=change.changed,
            notes=list(change.notes),
            environments=[resolution_content(resolution) for resolution in resolutions],
        )


def _install(resolutions: Sequence[Resolution], path: Path, cache: WheelCache, shown: Progress) -> None:
    """Bring the project's environment to what its file says: with uv, or else with pip, which locks nothing."""
    from wheelmill.client.environment.installation import install_chosen, interpreter_of  # noqa: PLC0415
    from wheelmill.client.install.installer import installer_for  # noqa: PLC0415
    from wheelmill.client.project.uv_project import UvProject  # noqa: PLC0415
    from wheelmill.installers.uv import find_uv  # noqa: PLC0415

    resolution = resolutions[0]
    if uv := find_uv():
        python = _python_for_uv(resolution, path)
        project = UvProject(directory=path.parent, uv=uv, python=python, progress=shown, offline=cache.offline)
        project.sync([choice.candidate for each in resolutions for choice in each.choices.values()])
        return
    installer = installer_for(interpreter_of(resolution.environment), shown, offline=cache.offline)
    install_chosen(resolution, cache, installer, progress=shown)


def _python_for_uv(resolution: Resolution, path: Path) -> str | None:
    """Which Python uv shall take; None for the one of the project's own environment."""
    environment = resolution.environment
    interpreter = environment.interpreter
    if interpreter is None:
        return str(environment.python)
    return None if interpreter.is_relative_to(path.parent / ".venv") else str(interpreter)
