"""Changing a project or an environment: by one command at a time, undone when it fails, told when it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wheelmill.cli.shared.output import say
from wheelmill.errors import UsageError
from wheelmill.system.units import size

if TYPE_CHECKING:
    from wheelmill.cli.shared.target import TargetOptions
    from wheelmill.client.install.changes import Package, PackageChange
    from wheelmill.client.install.places import Place
    from wheelmill.client.project.project import Project
    from wheelmill.names import ProjectName


@dataclass
class Outcome:
    """What became of the packages of an environment; nothing before the change is done."""

    changes: Sequence[PackageChange] = ()

    def tell(self) -> None:
        """Say it, a line for each package, and what to do next."""
        say_changes(self.changes)
        if any(change.after for change in self.changes):
            say("next: 'wheelmill test' imports what was installed, and launches kernels where there is a GPU")

    @property
    def content(self) -> list[dict[str, object]]:
        """What happened, as JSON has it."""
        return [
            {
                "project": change.project,
                "change": str(change.kind),
                "before": change.before,
                "after": change.after,
                "size": change.size,
            }
            for change in self.changes
        ]


def alone(place: Path) -> AbstractContextManager[None]:
    """Keep other commands from changing a project or an environment, and undo what a killed one left there."""
    from wheelmill.client.project.journal import have_alone  # noqa: PLC0415 - only what changes things

    return have_alone(place, say)


@contextmanager
def undoable(root: Path, files: Sequence[Path], environment: Place | None) -> Iterator[Outcome]:
    """Let the context change files and an environment: all of it, or nothing when it fails.

    Args:
        root: the folder that is had alone.
        files: every file that may be written.
        environment: what is installed into; None when nothing is.
    """
    from wheelmill.client.install.changes import compare_packages  # noqa: PLC0415 - only what changes things
    from wheelmill.client.project.journal import undo_on_failure  # noqa: PLC0415

    before, outcome = _packages(environment), Outcome()
    with undo_on_failure(root, files, environment, say):
        yield outcome
    outcome.changes = compare_packages(before, _packages(environment))


def environment_of(project: Project | None, target: TargetOptions) -> Place:
    """Where packages are installed.

    Args:
        project: a project, which may know its environment; None for an environment that is no project's.
        target: the options that name the interpreter otherwise.

    Raises:
        UsageError: there is no interpreter, or it does not run.
    """
    from wheelmill.client.install.places import Place  # noqa: PLC0415 - only what changes things
    from wheelmill.client.target.interpreter import find_interpreter  # noqa: PLC0415

    if project and project.environment:
        return Place.of_environment(project.environment)
    if interpreter := target.python_path or find_interpreter(Path.cwd()):
        return Place.of_interpreter(interpreter)
    raise UsageError("no interpreter to install for", hint="make one with 'uv venv', or name one with --python-path")


def say_changes(changes: Sequence[PackageChange]) -> None:
    """Say what happens to packages, a line each."""
    for change in changes:
        known = f" ({size(change.size)})" if change.size is not None else ""
        say(f"  {change.sign} {change.kind} {change.project} {change.versions}{known}")


def _packages(environment: Place | None) -> Mapping[ProjectName, Package]:
    from wheelmill.client.install.changes import packages_in  # noqa: PLC0415 - only what changes things

    return packages_in(environment.interpreter) if environment and environment.interpreter.exists() else {}
