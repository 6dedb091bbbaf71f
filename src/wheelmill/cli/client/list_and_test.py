"""``wheelmill list`` and ``test``: installed wheels, and whether they work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.utils import canonicalize_name

from wheelmill.cli.client.change import roll_back_interrupted
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import TargetOptions, project_here, projects_of, with_groups
from wheelmill.client.install.distributions import Distribution, installed_in
from wheelmill.client.install.import_test import Trial, find_compiled_projects, name_sections, try_packages
from wheelmill.client.install.installer import interpreter_of
from wheelmill.errors import FindingsError, UsageError
from wheelmill.names import ProjectName
from wheelmill.system import own_installation
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import List, Listed, Test


ProjectsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Packages; by default all whose version names a CUDA or a torch.", metavar="[PROJECT...]"),
]


@with_groups
def test(
    projects: ProjectsArgument = None,  # noqa: PT028 - no test of ours
    *,
    target: TargetOptions,
    as_json: JsonOption = False,  # noqa: PT028 - the same
) -> None:
    """Import installed wheels, and launch kernels where there is a GPU.

    Exits with 9 when one fails, or when nothing of what the project asks for is installed.
    """
    from wheelmill.config.load import load_config

    project = project_here(changes=target.python_path is None)
    is_own = target.python_path is None or target.python_path.absolute() == project.find_python()
    target = target.here(project)
    roll_back_interrupted(target)
    environment = target.detect()
    interpreter = interpreter_of(environment)
    asked = [canonicalize_name(each.name) for each in project.asked] if is_own else []
    installed = installed_in(interpreter)
    selected = _select_packages(projects, installed, [name for name in asked if name in installed])
    versions = {project: each.version for project, each in selected.items()}
    packages = load_config(own_installation.CONFIG).packages
    known = {name: package.expectations for name, package in packages.items()}
    trials = []
    for trial in try_packages(versions, interpreter, environment, known):
        trials.append(trial)
        _print_trial(trial)
    if as_json:
        content: Test = {"schema": "wheelmill.test/1", "packages": trials}
        print_json(content)
    if not trials and asked:
        raise FindingsError(
            "nothing-tested",
            f"nothing to test: {interpreter} has none of {', '.join(asked)}, which {project.path} asks for",
            hint="'wheelmill update' installs them",
        )
    if not trials:
        say("nothing to test: no installed version names a CUDA or a torch")
    if failures := {trial.project: trial.failure for trial in trials if trial.failure}:
        hint = name_sections(failure.code for failure in failures.values())
        raise FindingsError("imports-failed", f"failed: {', '.join(failures)}", hint=hint)


def _select_packages(
    projects: Sequence[str] | None,
    installed: Mapping[ProjectName, Distribution],
    others: Iterable[ProjectName] = (),
) -> dict[ProjectName, Distribution]:
    names = projects_of(projects) if projects else [*dict.fromkeys((*find_compiled_projects(installed), *others))]
    if missing := [name for name in names if name not in installed]:
        raise UsageError("not-installed", f"not installed: {', '.join(missing)}", hint="'wheelmill list' shows what is")
    return {name: installed[name] for name in names}


def _print_trial(trial: Trial) -> None:
    verdict = f"{trial.failure.code}: {trial.failure.explanation}" if trial.failure else "imports"
    say(f"{trial.project} {trial.version}: {verdict}; kernel: {trial.kernel}", essential=bool(trial.failure))
    if trial.failure:
        for line in trial.failure.key_lines:
            say(f"  {line}", essential=True)


@with_groups
def list(  # noqa: A001 - the command's name
    projects: ProjectsArgument = None, *, target: TargetOptions, as_json: JsonOption = False
) -> None:
    """List installed wheels whose version names a CUDA or a torch, and what they were built for."""
    print_installed(projects, target, as_json=as_json)


def print_installed(projects: Sequence[str] | None, target: TargetOptions, *, as_json: bool) -> None:
    """Print the named packages of an environment, or all that are compiled."""
    target = target.here()
    roll_back_interrupted(target)
    selected = _select_packages(projects, installed_in(interpreter_of(target.detect())))
    if as_json:
        packages = [_listed(project, each) for project, each in selected.items()]
        content: List = {"schema": "wheelmill.list/1", "packages": packages}
        print_json(content)
        return
    for project, distribution in selected.items():
        cuda = _cuda_of(distribution)
        needed = (
            f"CUDA {cuda}" if cuda else "no CUDA",
            words_for(distribution.torch) if distribution.torch else distribution.label.torch_words or "no torch",
        )
        print("  ".join((project, distribution.version, *needed)))
    if not selected:
        say("no installed version names a CUDA or a torch")


def _cuda_of(distribution: Distribution) -> str | None:
    return str(distribution.label.cuda or distribution.label.cuda_major or "") or None


def _listed(project: ProjectName, distribution: Distribution) -> Listed:
    return {
        "project": project,
        "version": distribution.version,
        "cuda": _cuda_of(distribution),
        **torch_in_json(distribution.torch),
    }
