"""``wheelmill add``, ``remove`` and ``update``: a project's wheels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
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
    in_list,
    packages_of,
    relock,
    requirements_beside,
    resolve_for_all,
    targets_for,
    transaction,
)
from wheelmill.cli.client.downloads import download_bars, wheel_cache
from wheelmill.cli.client.lock import LockFormat
from wheelmill.cli.client.resolve import RequirementsArgument, SearchOptions, resolution_content
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import SignerOption, projects_of, requirements_of, with_declared_torch, with_groups
from wheelmill.client.choose.choice import targets_of
from wheelmill.client.choose.fit import pythons_of
from wheelmill.client.choose.resolve import read_facts, resolve
from wheelmill.client.install.distributions import installed_in, unrequired
from wheelmill.client.install.installer import needs_of_choices
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, Platform, ProjectName, PythonVersion
from wheelmill.system.process import fenced
from wheelmill.web.credentials import without_credentials
from wheelmill.wheel.platforms import PLATFORMS

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import ProjectChange, Remove, ResolutionContent, Update
    from wheelmill.client.project.tool_project import Project
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

    --python and --platform take several values, separated by commas; each gets its own wheel, with a marker.
    """
    asked, project = requirements_of(requirements), target.find_project()
    with exclusive(project.root):
        project = _choose_list((canonicalize_name(each.name) for each in asked), project, target)
        targets = targets_for(project, target)
        resolutions = resolve_for_all(
            asked, targets, search, project, build=build, require_attestation=require_attestation
        )
        outcome, content = _change(project, asked, resolutions, target, search, dry_run=output.dry_run)
        output.report(outcome, {"schema": "wheelmill.add/1", **content})


@with_groups
def update(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    *,
    target: ChangeOptions,
    search: SearchOptions,
    upgrade_torch: Annotated[
        bool, typer.Option("--upgrade-torch", help="Take the newest torch that every package has a wheel for.")
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Append the changes to this file, as Markdown.", metavar="FILE", dir_okay=False)
    ] = None,
    require_attestation: SignerOption = None,
    output: ReportOptions,
) -> None:
    """Choose a project's wheels again, within the requirements with which they were added."""
    if upgrade_torch and (projects or target.torch):
        raise UsageError("options-conflict", "--upgrade-torch is for all packages: leave out PROJECT and --torch")
    project = target.find_project()
    with exclusive(project.root):
        again = _asked_again(project, projects, target)
        project = _choose_list((canonicalize_name(each.name) for each in again), project, target)
        target = _targets_again(project, again, target)
        before = _declared_versions(project, again)
        newest = _find_newest_torch(again, project, target, search) if upgrade_torch else (target, [], [])
        target, newer, held_back = newest
        targets = targets_for(project, target)
        resolutions = resolve_for_all(again, targets, search, project, require_attestation=require_attestation)
        lock = project.root / LockFormat.PYLOCK.filename(target.part)
        notes = [*held_back, *_changed_publishers(lock, resolutions, search)]
        outcome, change = _change(project, again, resolutions, target, search, dry_run=output.dry_run)
    for note in notes:
        say(f"note: {note}")
    content: Update = {
        "schema": "wheelmill.update/1",
        **change,
        "notes": [*change["notes"], *notes],
        "before": before,
        "newer_torches": [resolution_content(each) for each in newer],
    }
    if markdown:
        with markdown.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _markdown_lines(content))
    output.report(outcome, content)


@with_groups
def remove(
    projects: Annotated[list[str], typer.Argument(help="Packages to remove.", metavar="PROJECT...")],
    *,
    target: ChangeOptions,
    output: ReportOptions,
) -> None:
    """Remove packages from a project and its environment, with the wheels that only they required."""
    from wheelmill.client.project.change import removed_with

    project = target.find_project()
    with exclusive(project.root):
        project = _choose_list(projects_of(projects), project, target)
        named = projects_of(projects)
        names = removed_with(named, project.links, project.asked)
        if not target.no_sync:
            project.check_install()
        edit = project.remove(names)
        for note in edit.notes:
            say(f"note: {note}")
        environment = target.environment_of(project)
        installed = installed_in(environment.interpreter) if environment and environment.interpreter.exists() else {}
        gone = unrequired(names, named, installed)
        if output.dry_run:
            present = packages_of(environment)
            kept = {name: package for name, package in present.items() if name not in gone}
            outcome = EnvironmentChange.between(present, kept, edit.contents)
        else:
            with transaction(project.root, project.files, environment) as outcome, download_bars() as shown:
                edit.write()
                if target.no_sync:
                    relock(project, shown)
                else:
                    project.uninstall(gone, shown)
            say(f"removed {', '.join(names)} from {project.path}")
    content: Remove = {
        "schema": "wheelmill.remove/1",
        "project": str(project.path),
        "removed": [*names],
        **outcome.content,
    }
    output.report(outcome, content)


def _choose_list(names: Iterable[ProjectName], project: Project, target: ChangeOptions) -> Project:
    """Choose the list where all of these dependencies but torch stand; a named one must have them."""
    from wheelmill.client.project.tool_project import PyprojectProject

    names = {*names} - {TORCH}
    had = [each for each in project.requirements if canonicalize_name(each.name) in names]
    if target.part and (others := [each.name for each in had if each not in in_list(had, project)]):
        raise UsageError(
            "dependency-elsewhere",
            f"{project.path}: {', '.join(others)} stands in another list than {target.part}",
            hint="leave out --group or --extra to change it where it stands",
        )
    if target.part or not isinstance(project, PyprojectProject):
        return project
    known = project.lists
    lists = {known.get(name, project.list_keys) for name in names}
    return replace(project, list_keys=lists.pop()) if len(lists) == 1 else project


def _asked_again(project: Project, names: Sequence[str] | None, target: ChangeOptions) -> list[Requirement]:
    """Return the requirements with which wheels were added to a project or one list; all of them without names."""
    requirements = in_list(project.asked, project) if target.part else project.asked
    asked = {canonicalize_name(each.name): each for each in requirements}
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


def _targets_again(project: Project, asked: Iterable[Requirement], target: ChangeOptions) -> ChangeOptions:
    """Name the platforms and Pythons that wheels were added for, by the markers in the project."""
    names = {canonicalize_name(each.name) for each in asked}
    markers = [each.marker for each in project.requirements if canonicalize_name(each.name) in names and each.marker]
    if target.platform or target.python or not markers:
        return target
    here = targets_for(project, target)[0].detect()
    known = {python for release in read_facts().torch.values() for python in pythons_of(release, here.platform)}
    own = [replace(here, platform=platform) for platform in (here.platform.plain, *PLATFORMS)]
    around = own + [replace(each, python=other, python_release=None) for other in sorted(known) for each in own]
    pythons, platforms = list[PythonVersion](), list[Platform]()
    for marker in markers:
        matching = [each for each in around if each.meets(marker)]
        pythons += [each.python for each in matching[:1]]
        platforms += [each.platform for each in (matching if "platform_machine" in str(marker) else matching[:1])]
    return replace(target, python=_joined(pythons, here.python), platform=_joined(platforms, here.platform.plain))


def _joined(values: Iterable[object], own: object) -> str | None:
    """Return values as an option has them, this machine's own first; None if there is no other, so it is detected."""
    words = [*dict.fromkeys(map(str, sorted(values, key=own.__ne__)))]
    return None if words in ([], [str(own)]) else ",".join(words)


def _changed_publishers(lock: Path, resolutions: Iterable[Resolution], search: SearchOptions) -> Sequence[str]:
    from wheelmill.client.lock.files import changed_publishers, read_lock

    if not lock.exists():
        return ()
    chosen = [choice.candidate for each in resolutions for choice in each.choices.values()]
    try:
        with wheel_cache(search) as cache:
            return changed_publishers(read_lock(lock).packages, chosen, cache)
    except UsageError as error:  # it may be another tool's
        return [f"publishers are not compared: {error}"]


def _declared_versions(project: Project, asked: Sequence[Requirement]) -> dict[str, list[str]]:
    from wheelmill.client.project.change import range_of

    names = {TORCH, *(canonicalize_name(each.name) for each in asked)}
    ranges: dict[str, list[str]] = {}
    for requirement in project.requirements:
        if (name := canonicalize_name(requirement.name)) in names:
            ranges.setdefault(name, []).append(str(range_of(requirement)).removeprefix("=="))
    return ranges


def _find_newest_torch(
    asked: Sequence[Requirement], project: Project, target: ChangeOptions, search: SearchOptions
) -> tuple[ChangeOptions, list[Resolution], list[str]]:
    """Name the newest torch that has every wheel; also return the wheels for newer ones, and what is missing."""
    from wheelmill.client.project.change import find_declared_cuda
    from wheelmill.client.project.declared import torch_indexes

    newer: list[Resolution] = []
    notes: list[str] = []
    torches = [each for each in project.requirements if canonicalize_name(each.name) == TORCH]
    targets = targets_for(project, target)
    first = with_declared_torch(targets[0].detect(), project, targets[0].overrides(), asks_torch=False)
    if first.torch is None or not torches:
        return target, newer, notes
    declared = find_declared_cuda(torches, torch_indexes(project.sources))
    cuda = target.cuda or (str(declared) if declared else None)
    known = targets_of(replace(first, torch=None, torch_range=None, cuda=declared, cpu_only=False), read_facts())
    for torch in sorted({each.torch for each in known if each.torch and each.torch > first.torch}, reverse=True):
        targets = [replace(each, torch=str(torch), cuda=cuda) for each in targets]
        resolutions = [resolve(asked, each.detect(), search.search()) for each in targets]
        if missing := {name for each in resolutions for name in each.unresolved}:
            notes.insert(0, f"torch {torch} is held back by {', '.join(sorted(missing))}")
        else:
            try:
                project.add(asked, resolutions)
            except UsageError as error:  # the user's own requirement excludes it
                notes.insert(0, f"torch {torch} is held back: {error}")
            else:
                return replace(target, torch=str(torch), cuda=cuda), newer, notes
        newer[:0] = resolutions
    return target, newer, notes


def _markdown_lines(content: Update) -> Iterator[str]:
    """Yield a table for each environment, and the reasons against newer torches."""
    for place, entry in enumerate(content["environments"]):
        own, wheels = entry["environment"], entry["resolved"]
        newer = content["newer_torches"][place :: len(content["environments"])]
        heads = ["package", "before", "after", *(f"torch {new['environment']['torch']}" for new in newer)]
        yield from (f"Python {own['python']}, CUDA {own['cuda'] or '(any)'}, {own['platform']}:", "")
        yield from (_row(heads), _row(["---"] * len(heads)))
        for name in (*([TORCH] if own["torch"] else []), *wheels):
            after = wheels[name]["version"] if name in wheels else str(own["torch"])
            exists = [_existence(name, new) if name in wheels else "" for new in newer]
            yield _row([f"`{name}`", ", ".join(dict.fromkeys(content["before"].get(name, ()))), after, *exists])
        yield ""
    reasons = [f"{name}: {why}" for new in content["newer_torches"] for name, why in new["unresolved"].items()]
    yield from fenced([*content["notes"], *reasons])


def _existence(project: str, newer: ResolutionContent) -> str:
    """Return the version of a project's wheel for a newer torch; unknown if a source did not answer."""
    if project in newer["resolved"]:
        return newer["resolved"][project]["version"]
    return "unknown" if any(each.project == project and each.outcome.is_open for each in newer["sources"]) else "none"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _missing_passwords(search: SearchOptions) -> Iterator[str]:
    for place in (*search.named, *(search.extra_source or ())):
        if (public := without_credentials(place)) != place:
            yield f"no file has the password of {public}: put it into netrc or credentials.toml"


def _change(
    project: Project,
    asked: Sequence[Requirement],
    resolutions: Sequence[Resolution],
    target: ChangeOptions,
    search: SearchOptions,
    *,
    dry_run: bool,
) -> tuple[EnvironmentChange, ProjectChange]:
    """Write chosen wheels into a project, install them, and return what changed, also as JSON."""
    from wheelmill.client.project.tool_project import PlainProject

    if not target.no_sync:
        check_driver(needs_of_choices(resolutions[0], read_facts()), resolutions[0].environment)
        project.check_install()
    edit = project.add(asked, resolutions)
    environment = target.environment_of(project)
    for note in (*edit.notes, *_missing_passwords(search)):
        say(f"note: {note}")
    if dry_run:
        beside = () if isinstance(project, PlainProject) else requirements_beside(asked, project)
        outcome = forecast(resolutions[0], environment, search, edit.contents, beside)
    else:
        is_new = environment is not None and not environment.interpreter.exists()
        with transaction(project.root, project.files, environment) as outcome, wheel_cache(search) as cache:
            edit.write()
            if not target.no_sync:
                project.install(resolutions, cache)
            elif edit.contents:
                relock(project, cache.progress, resolutions, offline=cache.offline)
        made = target.environment_of(project)
        if environment != made:  # its tool makes environments elsewhere
            outcome = EnvironmentChange.between({}, packages_of(made))
        if is_new:
            say(f"environment: {made}")
        say(f"{'changed' if edit.contents else 'nothing to change in'} {project.path}")
    return outcome, {
        "project": str(project.path),
        "changed": bool(edit.contents),
        "notes": edit.notes,
        **outcome.content,
        "environments": [resolution_content(resolution) for resolution in resolutions],
    }
