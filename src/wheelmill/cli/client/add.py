"""``wheelmill add``, ``remove`` and ``update``: a project's wheels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.client.change import (
    DryRunOption,
    EnvironmentChange,
    ProjectOption,
    alone,
    download_bars,
    environment_of,
    forecast,
    heed_driver,
    packages_of,
    project_of,
    resolve_for_all,
    targets_for,
    undoable,
    wheel_cache,
)
from wheelmill.cli.client.resolve import RequirementsArgument, SearchOptions, resolution_content
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import SignerOption, TargetOptions, projects_of, requirements_of, with_groups
from wheelmill.errors import UsageError

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import ProjectChange, Remove
    from wheelmill.client.project.project import Project

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
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Add wheels to a project: choose them, write them into its pyproject.toml, and install them.

    --python and --platform take several values, separated by commas; each then gets its own wheel, behind a marker.
    """
    asked, found = requirements_of(requirements), project_of(project, target)
    with alone(found.root):
        _add(
            asked,
            target,
            search,
            found,
            command="add",
            no_sync=no_sync,
            build=build,
            require_attestation=require_attestation,
            dry_run=dry_run,
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
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Choose a project's wheels again, within what was asked for when they were added."""
    found = project_of(project, target)
    with alone(found.root):
        again = _asked_again(found, projects)
        _add(
            again,
            target,
            search,
            found,
            command="update",
            no_sync=no_sync,
            require_attestation=require_attestation,
            dry_run=dry_run,
            as_json=as_json,
        )


@with_groups
def remove(
    projects: Annotated[list[str], typer.Argument(help="Packages to remove.", metavar="PROJECT...")],
    *,
    target: TargetOptions,
    project: ProjectOption = None,
    no_sync: NoSyncOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take packages out of a project and its environment."""
    names = projects_of(projects)
    found = project_of(project, target)
    with alone(found.root):
        if not no_sync:
            found.check_install()
        edit = found.remove(names)
        environment = None if no_sync else environment_of(found, target)
        if dry_run:
            present = packages_of(environment)
            kept = {project: package for project, package in present.items() if project not in names}
            outcome = EnvironmentChange.between(present, kept, edit.contents)
        else:
            with undoable(found.root, found.files, environment) as outcome, download_bars() as shown:
                edit.write()
                if not no_sync:
                    found.uninstall(names, shown)
            say(f"removed {', '.join(names)} from {found.path}")
    outcome.tell()
    if as_json:
        content: Remove = {
            "schema": "wheelmill.remove/1",
            "project": str(found.path),
            "removed": [*names],
            **outcome.content,
        }
        print_json(content)


def _asked_again(project: Project, names: Sequence[str] | None) -> list[Requirement]:
    """The requirements with which wheels were added to a project.

    Args:
        project: the project that keeps it.
        names: what is updated; None and empty for everything.
    """
    asked = {canonicalize_name(each.name): each for each in project.asked}
    wanted = [canonicalize_name(name) for name in names or asked]
    if missing := [name for name in wanted if name not in asked]:
        raise UsageError(
            "not-added-here",
            f"{project.path}: {', '.join(missing)} was not added by 'wheelmill add'",
            hint=f"it added {', '.join(sorted(asked)) or 'nothing'}",
        )
    if not wanted:
        raise UsageError(
            "nothing-to-update", f"{project.path}: there is nothing to update", hint="'wheelmill add' adds packages"
        )
    return [asked[name] for name in wanted]


def _requirements_beside(asked: Sequence[Requirement], project: Project) -> list[Requirement]:
    """The requirements of a project, without torch and the wheels that wheelmill adds or has added."""
    names = {canonicalize_name(each.name) for each in (*asked, *project.asked)} | {canonicalize_name("torch")}
    return [each for each in project.requirements if canonicalize_name(each.name) not in names]


def _add(
    asked: Sequence[Requirement],
    target: TargetOptions,
    search: SearchOptions,
    project: Project,
    *,
    command: str,
    no_sync: bool,
    require_attestation: str | None,
    dry_run: bool,
    as_json: bool,
    build: bool = False,
) -> None:
    from wheelmill.client.choose.resolve import read_facts  # noqa: PLC0415 - only what changes things
    from wheelmill.client.install.installer import needs_of_choices  # noqa: PLC0415
    from wheelmill.client.project.change import find_torch_pin  # noqa: PLC0415

    torch = find_torch_pin(project.requirements)
    resolutions = resolve_for_all(
        asked, targets_for(project, target), search, torch, build=build, require_attestation=require_attestation
    )
    if not no_sync:
        heed_driver(needs_of_choices(resolutions[0], read_facts()), resolutions[0].environment)
        project.check_install()
    edit = project.add(asked, resolutions)
    environment = None if no_sync else environment_of(project, target)
    for note in edit.notes:
        say(f"note: {note}")
    if dry_run:
        beside = _requirements_beside(asked, project)
        outcome = forecast(resolutions[0], environment, search, edit.contents, beside)
    else:
        with undoable(project.root, project.files, environment) as outcome, wheel_cache(search) as (cache, shown):
            edit.write()
            if not no_sync:
                project.install(resolutions, cache, shown)
        made = None if no_sync else environment_of(project, target)
        if environment != made:  # its tool makes environments elsewhere
            outcome = EnvironmentChange.between({}, packages_of(made))
        say(f"{'changed' if edit.contents else 'nothing to change in'} {project.path}")
    outcome.tell()
    if as_json:
        content: ProjectChange = {
            "project": str(project.path),
            "changed": bool(edit.contents),
            "notes": edit.notes,
            **outcome.content,
            "environments": [resolution_content(resolution) for resolution in resolutions],
        }
        print_json({"schema": f"wheelmill.{command}/1", **content})
