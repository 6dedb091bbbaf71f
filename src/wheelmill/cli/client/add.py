"""``wheelmill add``, ``remove`` and ``update``: a project's wheels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.client.change import (
    ChangeOptions,
    EnvironmentChange,
    ReportOptions,
    check_driver,
    exclusive,
    forecast,
    packages_of,
    requirements_beside,
    resolve_for_project,
    transaction,
)
from wheelmill.cli.client.downloads import download_bars, wheel_cache
from wheelmill.cli.client.resolve import RequirementsArgument, SearchOptions, resolution_content
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import SignerOption, projects_of, requirements_of, with_groups
from wheelmill.errors import UsageError

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import ProjectChange, Remove
    from wheelmill.client.project.find import Project
    from wheelmill.client.records import Resolution


@with_groups
def add(
    requirements: RequirementsArgument,
    *,
    target: ChangeOptions,
    search: SearchOptions,
    build: Annotated[
        bool, typer.Option("--build", help="Compile wheels that no source has, for this machine's GPUs only.")
    ] = False,
    require_attestation: SignerOption = None,
    output: ReportOptions,
) -> None:
    """Add wheels to a project: choose them, write them into its pyproject.toml, and install them.

    --python and --platform take several values, separated by commas; each then gets its own wheel, behind a marker.
    """
    asked, project = requirements_of(requirements), target.find_project()
    with exclusive(project.root):
        resolutions = resolve_for_project(
            asked, project, target, search, build=build, require_attestation=require_attestation
        )
        _change(project, asked, resolutions, target, command="add", search=search, output=output)


@with_groups
def update(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    *,
    target: ChangeOptions,
    search: SearchOptions,
    require_attestation: SignerOption = None,
    output: ReportOptions,
) -> None:
    """Choose a project's wheels again, within what was asked for when they were added."""
    project = target.find_project()
    with exclusive(project.root):
        again = _asked_again(project, projects)
        resolutions = resolve_for_project(again, project, target, search, require_attestation=require_attestation)
        _change(project, again, resolutions, target, command="update", search=search, output=output)


@with_groups
def remove(
    projects: Annotated[list[str], typer.Argument(help="Packages to remove.", metavar="PROJECT...")],
    *,
    target: ChangeOptions,
    output: ReportOptions,
) -> None:
    """Take packages out of a project and its environment."""
    names = projects_of(projects)
    project = target.find_project()
    with exclusive(project.root):
        if not target.no_sync:
            project.check_install()
        edit = project.remove(names)
        environment = target.environment_of(project)
        if output.dry_run:
            present = packages_of(environment)
            kept = {name: package for name, package in present.items() if name not in names}
            outcome = EnvironmentChange.between(present, kept, edit.contents)
        else:
            with transaction(project.root, project.files, environment) as outcome, download_bars() as shown:
                edit.write()
                if not target.no_sync:
                    project.uninstall(names, shown)
            say(f"removed {', '.join(names)} from {project.path}")
    content: Remove = {
        "schema": "wheelmill.remove/1",
        "project": str(project.path),
        "removed": [*names],
        **outcome.content,
    }
    output.report(outcome, content)


def _asked_again(project: Project, names: Sequence[str] | None) -> list[Requirement]:
    """Return the requirements with which wheels were added to a project; all of them if there are no names."""
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


def _change(
    project: Project,
    asked: Sequence[Requirement],
    resolutions: Sequence[Resolution],
    target: ChangeOptions,
    *,
    command: str,
    search: SearchOptions,
    output: ReportOptions,
) -> None:
    """Write chosen wheels into a project, install them, and report what changed."""
    from wheelmill.client.choose.resolve import read_facts
    from wheelmill.client.install.installer import needs_of_choices

    if not target.no_sync:
        check_driver(needs_of_choices(resolutions[0], read_facts()), resolutions[0].environment)
        project.check_install()
    edit = project.add(asked, resolutions)
    environment = target.environment_of(project)
    for note in edit.notes:
        say(f"note: {note}")
    if output.dry_run:
        beside = requirements_beside(asked, project)
        outcome = forecast(resolutions[0], environment, search, edit.contents, beside)
    else:
        is_new = environment is not None and not environment.interpreter.exists()
        with transaction(project.root, project.files, environment) as outcome, wheel_cache(search) as (cache, shown):
            edit.write()
            if not target.no_sync:
                project.install(resolutions, cache, shown)
        made = target.environment_of(project)
        if environment != made:  # its tool makes environments elsewhere
            outcome = EnvironmentChange.between({}, packages_of(made))
        if is_new:
            say(f"environment: {made}")
        say(f"{'changed' if edit.contents else 'nothing to change in'} {project.path}")
    content: ProjectChange = {
        "project": str(project.path),
        "changed": bool(edit.contents),
        "notes": edit.notes,
        **outcome.content,
        "environments": [resolution_content(resolution) for resolution in resolutions],
    }
    output.report(outcome, {"schema": f"wheelmill.{command}/1", **content})
