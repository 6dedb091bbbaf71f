"""Changing a project or an environment: one command at a time, rolled back if it fails, reported if it succeeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.client.downloads import wheel_cache
from wheelmill.cli.client.resolve import SearchOptions, demand_attestations, no_wheel_error, print_resolution
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import TargetOptions, check_project, projects_of, with_declared_torch
from wheelmill.client.choose.choice import ELSEWHERE
from wheelmill.client.choose.resolve import is_pure_on_index, resolve
from wheelmill.client.install import installer
from wheelmill.client.install.distributions import (
    InstalledPackage,
    InstallPlace,
    PackageChange,
    compare_packages,
    packages_in,
)
from wheelmill.client.project import journal
from wheelmill.client.project.find import find_project
from wheelmill.client.project.tool_project import Project
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, ProjectName
from wheelmill.system.files import read_bounded
from wheelmill.system.process import command_line
from wheelmill.system.progress import Progress, size

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Changed


@dataclass
class EnvironmentChange:
    """The packages of an environment, before and after a change."""

    changes: Sequence[PackageChange] = ()
    """Empty until the change is done."""
    plan: Mapping[Path, bytes] | None = None
    """The new content of files, if nothing was changed."""

    @classmethod
    def between(
        cls,
        before: Mapping[ProjectName, InstalledPackage],
        after: Mapping[ProjectName, InstalledPackage],
        plan: Mapping[Path, bytes] | None = None,
    ) -> EnvironmentChange:
        """Compare two states of an environment."""
        return cls(changes=tuple(compare_packages(before, after)), plan=plan)

    def print_lines(self) -> None:
        """Print a line for each package, and the next step."""
        is_plan = self.plan is not None
        for diff in _diffs_of(self.plan or {}).values():
            say(diff, essential=True)
        for change in self.changes:
            known = f" ({size(change.size)})" if change.size is not None else ""
            will = "would be " if is_plan else ""
            say(f"  {change.sign} {will}{change.change}: {change.project} {change.versions}{known}", essential=is_plan)
        if is_plan:
            say("nothing was changed" if self.plan or self.changes else "there is nothing to change")
        elif any(change.after for change in self.changes):
            say("next: 'wheelmill test' imports what was installed, and launches kernels where there is a GPU")

    @property
    def content(self) -> Changed:
        """The change as JSON."""
        content: Changed = {"packages": self.changes}
        if self.plan is not None:
            content |= {"dry_run": True, "diff": _diffs_of(self.plan)}
        return content


def _diffs_of(contents: Mapping[Path, bytes]) -> dict[str, str]:
    diffs = {}
    for path, content in contents.items():
        texts = ((read_bounded(path) if path.exists() else b""), content)
        old, new = (text.decode(errors="replace").splitlines() for text in texts)
        diffs[str(path)] = "\n".join(unified_diff(old, new, fromfile=str(path), tofile=str(path), lineterm=""))
    return diffs


def check_driver(needs: Iterable[installer.DriverNeed], environment: TargetEnvironment) -> None:
    """Check the driver before anything is downloaded."""
    if warning := installer.check_driver(needs, environment):
        say_warning(warning)


def exclusive(place: Path) -> AbstractContextManager[None]:
    """Lock a project or an environment against other commands, and roll back the change of a killed one."""
    return journal.exclusive(place, say)


def roll_back_interrupted(target: TargetOptions) -> None:
    """Roll back a killed command's change to the environment that options name, before it is read."""
    if journal.has_journals() and target.python_path:
        journal.roll_back_interrupted(InstallPlace.of_interpreter(target.python_path).base, say)


@contextmanager
def transaction(root: Path, files: Sequence[Path], environment: InstallPlace | None) -> Iterator[EnvironmentChange]:
    """Let the context change files and an environment, all of it or nothing; see `roll_back_on_failure`."""
    before, outcome = packages_of(environment), EnvironmentChange()
    if environment and environment.interpreter.exists():  # only a project's tool knows where it makes a new one
        say(f"environment: {environment}")
    with journal.roll_back_on_failure(root, files, environment, say):
        yield outcome
    outcome.changes = EnvironmentChange.between(before, packages_of(environment)).changes


@contextmanager
def environment_transaction(target: TargetOptions) -> Iterator[EnvironmentChange]:
    """Let the context change the environment that options name: all of it, or nothing when it fails."""
    place = install_place_of(target)
    with exclusive(place.base), transaction(place.base, (), place) as outcome:
        yield outcome


def install_place_of(target: TargetOptions) -> InstallPlace:
    """Return where packages are installed that belong to no project."""
    if target.python_path:
        return InstallPlace.of_interpreter(target.python_path)
    raise installer.no_environment()


def packages_of(environment: InstallPlace | None) -> Mapping[ProjectName, InstalledPackage]:
    """List the packages of an environment; none if it does not exist yet."""
    return packages_in(environment.interpreter) if environment and environment.interpreter.exists() else {}


def forecast(
    resolution: Resolution,
    environment: InstallPlace | None,
    search: SearchOptions,
    plan: Mapping[Path, bytes],
    beside: Iterable[Requirement] = (),
) -> EnvironmentChange:
    """Predict the changes of an installation and of files; ``beside`` has the other requirements of a project."""
    from wheelmill.client.lock.environments import forecast_packages

    if environment is None:
        return EnvironmentChange(plan=plan)
    present = packages_of(environment)
    with wheel_cache(search) as cache:
        after = forecast_packages(resolution, present, beside=beside, cache=cache)
    return EnvironmentChange.between(present, after, plan)


@dataclass(frozen=True, kw_only=True)
class ProjectOptions(TargetOptions):
    """A project, and the target of its wheels."""

    project: Annotated[
        Path | None,
        typer.Option(
            "--script",
            "--project",
            help="The project: its file, folder, script or environment; by default the nearest, else a new one here.",
            metavar="PATH",
        ),
    ] = None

    def find_project(self) -> Project:
        """Find the named project, or the nearest one in or above this folder; else return a new one here."""
        project = find_project(self.project, self.python_path)
        check_project(project)
        is_restored = journal.roll_back_interrupted(project.root, say)
        return find_project(self.project, self.python_path) if is_restored else project


@dataclass(frozen=True, kw_only=True)
class GroupOptions(ProjectOptions):
    """A project, or one of its dependency groups or extras."""

    group: Annotated[
        str | None,
        typer.Option("--group", help="Dependency group (PEP 735), for uv, Poetry and PDM.", metavar="NAME"),
    ] = None
    extra: Annotated[str | None, typer.Option("--extra", help="Extra, for uv, Poetry and PDM.", metavar="NAME")] = None

    @property
    def part(self) -> str | None:
        """The name of the group or the extra."""
        return self.group or self.extra

    def find_project(self) -> Project:
        """Find the project as other commands do; a group or an extra is refused where its tool has none."""
        from wheelmill.client.project.pyproject import EXTRAS, GROUPS
        from wheelmill.client.project.tool_project import LockedProject

        if self.group and self.extra:
            raise UsageError("options-conflict", "a wheel is written into one list: give --group or --extra")
        project = super().find_project()
        if self.part is None:
            return project
        if isinstance(project, LockedProject) and project.group_option:
            table = GROUPS if self.group else EXTRAS
            return replace(project, list_keys=(*table, projects_of([self.part])[0]))
        raise UsageError(
            "groups-unsupported",
            f"{project.path}: --group and --extra are for projects of uv, Poetry and PDM, and this is a {project.kind}",
            hint="leave them out, or name a file for that group alone with --project",
        )


def in_list(requirements: Iterable[Requirement], project: Project, *, with_own: bool = False) -> list[Requirement]:
    """List those requirements that stand in the chosen list of a project, or also in its own."""
    from wheelmill.client.project.pyproject import PROJECT_LIST
    from wheelmill.client.project.tool_project import PyprojectProject

    if not isinstance(project, PyprojectProject):
        return [*requirements]
    known, wanted = project.lists, {project.list_keys, *([PROJECT_LIST] if with_own else ())}
    return [each for each in requirements if known.get(canonicalize_name(each.name), PROJECT_LIST) in wanted]


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(GroupOptions):
    """A project that a command changes, with or without its environment."""

    no_sync: Annotated[
        bool, typer.Option("--no-sync", help="Change the project's files and its tool's lock, and install nothing.")
    ] = False

    def environment_of(self, project: Project) -> InstallPlace | None:
        """Return the environment that changes with a project; None with ``--no-sync``, or if there is none yet."""
        from wheelmill.client.project.tool_project import ToolProject

        if self.no_sync or not (project.environment or self.python_path):
            return None
        if isinstance(project, ToolProject) and project.environment:
            return InstallPlace.of_environment(project.environment)
        python = project.find_python()
        return InstallPlace.of_interpreter(python) if python else None


def relock(
    project: Project, progress: Progress, resolutions: Sequence[Resolution] = (), *, offline: bool = False
) -> None:
    """Update the lock of a project's tool, if there is one, or name the command that does and makes an environment."""
    from wheelmill.client.project.tool_project import LockedProject

    if not isinstance(project, LockedProject) or not project.lock.exists():
        return
    if project.makes_environment_to_lock and project.own_python is None:
        say(f"note: {project.lock.name} is older than {project.path.name} now: '{project.tool} lock' updates it")
    else:
        project.relock(progress, resolutions, offline=offline)


DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options for a trial run, and for the form of the report."""

    dry_run: DryRunOption = False
    as_json: JsonOption = False

    def report(self, outcome: EnvironmentChange, content: Mapping[str, object]) -> None:
        """Report an outcome to people, and its JSON to programs."""
        outcome.print_lines()
        if self.as_json:
            print_json(content)


def lock_folder(project: Project) -> Path:
    """Return the folder of a project's ``pylock.toml``: that of its file, or this one for an environment alone."""
    return Path.cwd() if project.root == project.environment else project.root


def targets_for(project: Project, target: TargetOptions) -> list[TargetOptions]:
    """Divide a target by its Pythons and platforms, which commas separate. The interpreter is the project's."""
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


def required_in(project: Project) -> set[ProjectName]:
    """The projects that were chosen because wheels of others require them."""
    return {required for _, required in project.links}


def requirements_beside(asked: Iterable[Requirement], project: Project) -> list[Requirement]:
    """List the requirements of a project and its chosen list, without torch and the wheels that were added to it."""
    names = {TORCH, *required_in(project), *(canonicalize_name(each.name) for each in (*asked, *project.asked))}
    requirements = in_list(project.requirements, project, with_own=True)
    return [each for each in requirements if canonicalize_name(each.name) not in names]


def _with_plain_packages(resolution: Resolution, requirements: Iterable[Requirement], project: Project) -> Resolution:
    """Name the project's own way to add packages that no source has, and that are pure Python."""
    from wheelmill.client.choose.explain import has_namesake

    silent = {each.project for each in resolution.sources if each.outcome.is_open}
    absent = {name for name, each in resolution.unresolved.items() if each.suggestion == ELSEWHERE} - silent
    plain = {
        name: replace(
            resolution.unresolved[name],
            reason="no source has a wheel of it, and it is pure Python: it needs none for a CUDA",
            suggestion=_way_to_add(requirement, project),
        )
        for requirement in requirements
        if (name := canonicalize_name(requirement.name)) in absent
        and not has_namesake(name)
        and is_pure_on_index(requirement)
    }
    return replace(resolution, unresolved={**resolution.unresolved, **plain})


def _way_to_add(requirement: Requirement, project: Project) -> str:
    """The command of a project's own tool that adds a package; without a tool, the file to write it into."""
    from wheelmill.client.project.tool_project import LockedProject

    if isinstance(project, LockedProject):
        return command_line((project.tool, "add", str(requirement)))
    if project.environment == project.root:
        return command_line(("uv", "pip", "install", "--python", str(project.environment), str(requirement)))
    return f"write {requirement} into {project.path}, and install it as its other requirements"


def _leave_out(resolutions: Sequence[Resolution]) -> Iterator[Resolution]:
    """Leave projects out on platforms for which no wheel can be had, if there is one for another platform."""
    for resolution in resolutions:
        platform, unresolved = resolution.environment.platform, dict(resolution.unresolved)
        for name, absence in resolution.unresolved.items():
            platforms = {other.environment.platform for other in resolutions if name in other.choices}
            may_exist = any(outcome.outcome.is_open for outcome in resolution.sources if outcome.project == name)
            if platforms and platform not in platforms and not may_exist and absence.suggestion in (None, ELSEWHERE):
                say(f"{name} is left out on {platform}: {absence.reason}")
                del unresolved[name]
        yield replace(resolution, unresolved=unresolved)


def resolve_for_all(
    requirements: Sequence[Requirement],
    targets: Sequence[TargetOptions],
    search: SearchOptions,
    project: Project | None = None,
    *,
    build: bool = False,
    require_attestation: str | None = None,
) -> tuple[Resolution, ...]:
    """Choose wheels for every target, all with one torch and one CUDA; `build` compiles those that no source has."""
    resolved: list[Resolution] = []
    depends = {canonicalize_name(each.name) for each in project.requirements} - required_in(project) if project else ()
    asks_torch = any(canonicalize_name(each.name) == TORCH and each.specifier for each in requirements)
    for target in targets:
        environment = target.detect()
        if project:
            environment = with_declared_torch(environment, project, target.overrides(), asks_torch=asks_torch)
        if first := next((known.environment for known in resolved if known.choices), None):
            environment = replace(environment, torch=first.torch, cuda=first.cuda)
        resolution = resolve(requirements, environment, replace(search.search(project), confirm=True), depends)
        if project and resolution.unresolved and not search.offline:
            resolution = _with_plain_packages(resolution, requirements, project)
        resolved.append(resolution)
    final: list[Resolution] = []
    for resolution in sorted(_leave_out(resolved), key=lambda each: not each.choices):
        if resolution.choices or resolution.unresolved:
            print_resolution(resolution)
        if resolution.unresolved:
            from wheelmill.cli.shared.local_builds import add_local_builds

            resolution = add_local_builds(resolution, requirements, build=build)  # noqa: PLW2901 - with what it built
        final.append(resolution)
    if any(resolution.unresolved for resolution in final):
        raise no_wheel_error(final)
    demand_attestations(final, require_attestation)
    return tuple(final)
