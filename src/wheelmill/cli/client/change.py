"""Changing a project or an environment: one command at a time, rolled back if it fails, reported if it succeeds.

A project has a file, environments, and wheels for all of them. Downloads go through the cache, with progress bars.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement
from platformdirs import user_cache_path
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from wheelmill.cli.client.resolve import (
    SearchOptions,
    add_local_builds,
    demand_attestations,
    no_wheel_error,
    print_resolution,
)
from wheelmill.cli.shared.commands import Waiting, say, say_warning
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.install.wheel_cache import AT_ONCE, WheelCache
from wheelmill.client.records import Resolution
from wheelmill.errors import UsageError
from wheelmill.names import TorchVersion
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress, size

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelmill.cli.client.outputs import Changed
    from wheelmill.cli.client.resolve import SearchOptions
    from wheelmill.cli.shared.options import TargetOptions
    from wheelmill.client.install.distributions import InstalledPackage, InstallPlace, PackageChange
    from wheelmill.client.install.installer import DriverNeed
    from wheelmill.client.project.project import Project
    from wheelmill.client.records import Resolution, TargetEnvironment
    from wheelmill.names import ProjectName


class DownloadBars(Progress):
    """A bar for each download, and the line that a running installer printed last."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._last = bars.add_task("", visible=False)

    def step(self, text: str) -> None:
        """Print the step above the bars."""
        self._bars.console.print(escape(text))

    def line(self, text: str) -> None:
        """Show what uv or pip is at."""
        self._bars.update(self._last, description=escape(text[:100]), visible=bool(text), total=None)

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """Move a file's bar."""
        if filename not in self._tasks:
            self._tasks[filename] = self._bars.add_task(escape(filename), total=total)
        self._bars.update(self._tasks[filename], completed=done)


class DownloadLines(Waiting):
    """Where there is no terminal: each step, and of what takes long a line now and then."""

    def __init__(self) -> None:
        super().__init__(silent=5.0)

    def step(self, text: str) -> None:
        """Print it, in the place of what is shown on a terminal that cannot show bars."""
        self.line("")
        say(text)

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """Say how much there is of a file."""
        self.line(f"{filename}: {size(done)}" + (f" of {size(total)}" if total else ""))


@contextmanager
def download_bars() -> Iterator[Progress]:
    """Show bars while the context is open; they go when it is left."""
    if not STDERR.is_interactive:
        lines = DownloadLines()
        try:
            yield lines
        finally:
            lines.line("")  # a terminal with TERM=dumb shows no bars, and keeps the last line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=STDERR, transient=True) as bars:
        yield DownloadBars(bars)


@contextmanager
def wheel_cache(search: SearchOptions) -> Iterator[tuple[WheelCache, Progress]]:
    """The cache of wheels, and the bars that show downloads into it."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only what downloads

    from wheelmill.client.sources.sources import keep_credentials  # noqa: PLC0415 - only what downloads
    from wheelmill.installers.package_index import configured_index  # noqa: PLC0415 - the same
    from wheelmill.web.client import ATTENDED, Web  # noqa: PLC0415 - httpx takes longer to import than most commands

    keep_credentials(search.source or (), search.extra_source or ())
    configured_index()  # a lock may have files of it, and its URL their password
    directory = user_cache_path("wheelmill") / "wheels"
    if fault := None if search.offline else _fault_of(directory):
        say(f"warning: the cache of wheels is left as it is: {fault}")
    with (
        temporary_folder() if fault else nullcontext(directory) as folder,
        ThreadPoolExecutor(AT_ONCE) as threads,
        Web(retries=ATTENDED) as web,
        download_bars() as shown,
    ):
        yield WheelCache(directory=folder, web=web, threads=threads, offline=search.offline), shown


def _fault_of(directory: Path) -> OSError | None:
    """Why nothing can be written in a folder; None when it can."""
    try:
        with temporary_folder(directory):
            return None
    except OSError as error:
        return error


DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@dataclass
class EnvironmentChange:
    """The packages of an environment, before and after a change."""

    changes: Sequence[PackageChange] = ()
    """None until the change is done."""
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
        from wheelmill.client.install.distributions import compare_packages  # noqa: PLC0415 - only what changes things

        return cls(changes=compare_packages(before, after), plan=plan)

    def tell(self) -> None:
        """Report it, one line per package, and say what to do next."""
        for diff in diffs_of(self.plan or {}).values():
            say(diff)
        for each in self.changes:
            known = f" ({size(each.size)})" if each.size is not None else ""
            will = "would be " if self.plan is not None else ""
            say(f"  {each.sign} {will}{each.change}: {each.project} {each.versions}{known}")
        if self.plan is not None:
            say("nothing was changed" if self.plan or self.changes else "there is nothing to change")
        elif any(change.after for change in self.changes):
            say("next: 'wheelmill test' imports what was installed, and launches kernels where there is a GPU")

    @property
    def content(self) -> Changed:
        """What happened, as JSON has it."""
        content: Changed = {"packages": self.changes}
        if self.plan is not None:
            content |= {"dry_run": True, "diff": diffs_of(self.plan)}
        return content


def diffs_of(contents: Mapping[Path, bytes]) -> dict[str, str]:
    """How files would change: a unified diff of each file, by its path.

    Args:
        contents: the new content of each file.
    """
    diffs = {}
    for path, content in contents.items():
        texts = ((path.read_bytes() if path.exists() else b""), content)
        old, new = (text.decode(errors="replace").splitlines() for text in texts)
        diffs[str(path)] = "\n".join(unified_diff(old, new, fromfile=str(path), tofile=str(path), lineterm=""))
    return diffs


def heed_driver(needs: Iterable[DriverNeed], environment: TargetEnvironment) -> None:
    """Check the driver before anything is downloaded."""
    from wheelmill.client.install.installer import check_driver  # noqa: PLC0415 - only what installs

    if warning := check_driver(needs, environment):
        say_warning(warning)


def alone(place: Path) -> AbstractContextManager[None]:
    """Keep other commands from changing a project or an environment, and undo what a killed one left there."""
    from wheelmill.client.project.journal import have_alone  # noqa: PLC0415 - only what changes things

    return have_alone(place, say)


def settle(target: TargetOptions) -> None:
    """Undo what a killed command left of the environment that options name, before that is looked at."""
    from wheelmill.client.install.distributions import InstallPlace  # noqa: PLC0415 - seldom needed
    from wheelmill.client.project.journal import is_anything_left, undo_what_was_left  # noqa: PLC0415 - the same
    from wheelmill.client.target.interpreter import find_interpreter  # noqa: PLC0415 - the same

    if is_anything_left() and (interpreter := target.python_path or find_interpreter(Path.cwd())):
        undo_what_was_left(InstallPlace.of_interpreter(interpreter).base, say)


@contextmanager
def undoable(root: Path, files: Sequence[Path], environment: InstallPlace | None) -> Iterator[EnvironmentChange]:
    """Let the context change files and an environment: all of it, or nothing when it fails.

    Args:
        root: the folder that is locked.
        files: every file that may be written.
        environment: what is installed into; None when nothing is.
    """
    from wheelmill.client.project.journal import undo_on_failure  # noqa: PLC0415 - only what changes things

    before, outcome = packages_of(environment), EnvironmentChange()
    with undo_on_failure(root, files, environment, say):
        yield outcome
    outcome.changes = EnvironmentChange.between(before, packages_of(environment)).changes


@contextmanager
def undoable_environment(target: TargetOptions) -> Iterator[EnvironmentChange]:
    """Let the context change the environment that options name: all of it, or nothing when it fails."""
    place = environment_here(target)
    with alone(place.base), undoable(place.base, (), place) as outcome:
        yield outcome


def environment_of(project: Project, target: TargetOptions) -> InstallPlace | None:
    """Where packages of a project are installed; None where there is no environment yet that anybody knows.

    Raises:
        UsageError: its interpreter does not run.
    """
    from wheelmill.client.install.distributions import InstallPlace  # noqa: PLC0415 - only what changes things

    if project.environment:
        return InstallPlace.of_environment(project.environment)
    return InstallPlace.of_interpreter(target.python_path) if target.python_path else None


def environment_here(target: TargetOptions) -> InstallPlace:
    """Where packages are installed that are no project's."""
    from wheelmill.client.install.distributions import InstallPlace  # noqa: PLC0415 - only what changes things
    from wheelmill.client.target.interpreter import find_interpreter  # noqa: PLC0415

    if interpreter := target.python_path or find_interpreter(Path.cwd()):
        return InstallPlace.of_interpreter(interpreter)
    raise UsageError(
        "no-environment",
        "no Python environment to install into",
        hint="make one with 'uv venv', or name one with --python-path",
    )


def packages_of(environment: InstallPlace | None) -> Mapping[ProjectName, InstalledPackage]:
    """The packages that are installed there; none if there is no environment yet."""
    from wheelmill.client.install.distributions import packages_in  # noqa: PLC0415 - only what changes things

    return packages_in(environment.interpreter) if environment and environment.interpreter.exists() else {}


def forecast(
    resolution: Resolution,
    environment: InstallPlace | None,
    search: SearchOptions,
    plan: Mapping[Path, bytes],
    beside: Iterable[Requirement] = (),
) -> EnvironmentChange:
    """Find out what installing chosen wheels would change, without installing anything.

    Args:
        resolution: the wheels that were chosen for it.
        environment: where it would be installed; None when it would not.
        search: the options that say where wheels come from.
        plan: the new content of files.
        beside: the other requirements of a project.
    """
    from wheelmill.client.lock.environments import forecast_packages  # noqa: PLC0415 - only what changes things

    if environment is None:
        return EnvironmentChange(plan=plan)
    present = packages_of(environment)
    with wheel_cache(search) as (cache, shown):
        after = forecast_packages(resolution, present, beside=beside, cache=cache, progress=shown)
    return EnvironmentChange.between(present, after, plan)


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
    """One for each Python and platform; both options take several, with commas. The interpreter is the project's."""
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
