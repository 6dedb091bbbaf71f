"""``wheelmill install`` and ``sync``: what is in an environment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.client.change import (
    EnvironmentChange,
    GroupOptions,
    ReportOptions,
    check_driver,
    exclusive,
    forecast,
    install_place_of,
    lock_folder,
    packages_of,
    resolve_for_all,
    transaction,
)
from wheelmill.cli.client.downloads import wheel_cache
from wheelmill.cli.client.lock import LockFormat
from wheelmill.cli.client.resolve import SearchOptions, package_argument
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import SignerOption, TargetOptions, project_here, requirements_of, with_groups
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.environment.detect import active_environment, is_ours
from wheelmill.client.install.installer import (
    Installation,
    install_chosen,
    interpreter_of,
    needs_of_choices,
    needs_of_wheels,
)
from wheelmill.errors import FindingsError, UsageError
from wheelmill.system.progress import number_of
from wheelmill.wheel.name import WheelName

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import InstallationContent
    from wheelmill.client.install.distributions import InstallPlace

LockOption = Annotated[
    Path | None, typer.Option("--lock", help="A pylock.toml, written by any tool (PEP 751).", metavar="FILE")
]


@with_groups
def install(
    requirements: Annotated[
        list[str] | None,
        package_argument("Packages: flash-attn, 'mamba-ssm>=2,<3'.", "[REQUIREMENT...]"),
    ] = None,
    *,
    target: TargetOptions,
    search: SearchOptions,
    lock: LockOption = None,
    require_attestation: SignerOption = None,
    output: ReportOptions,
) -> None:
    """Install wheels, or the content of a lock, into an environment.

    Every wheel's hash is checked before anything is installed; exits with 9 if one differs.
    """
    if bool(requirements) == bool(lock):
        raise UsageError("packages-or-lock", "give either packages or --lock FILE")
    if lock:
        if require_attestation:
            raise UsageError(
                "attestation-not-for-locks",
                "--require-attestation is for wheels that are chosen; those of a lock are known by their hashes",
                hint="give it to 'wheelmill lock'; 'wheelmill sync --require-attestation' takes publishers from a lock",
            )
        outcome, installed = _install_locked(lock, _place_to_change(target), search, dry_run=output.dry_run)
        _report("install", installed, outcome, output)
        return
    asked = requirements_of(requirements or ())
    target, place = _place_to_change(target)
    with exclusive(place.base):
        (resolution,) = resolve_for_all(asked, [target], search, require_attestation=require_attestation)
        check_driver(needs_of_choices(resolution, read_facts()), resolution.environment)
        interpreter_of(resolution.environment)  # also before a dry run
        if output.dry_run:
            outcome, installed = forecast(resolution, place, search, {}), Installation(wheels=())
        else:
            with transaction(place.base, (), place) as outcome, wheel_cache(search) as cache:
                installed = install_chosen(resolution, cache)
    _report("install", installed, outcome, output)


@with_groups
def sync(
    *,
    lock: LockOption = None,
    target: GroupOptions,
    search: SearchOptions,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 9 if the environment differs from the lock.")
    ] = False,
    require_attestation: Annotated[
        bool, typer.Option("--require-attestation", help="Refuse a lock whose publishers cannot all be verified.")
    ] = False,
    output: ReportOptions,
) -> None:
    """Make an environment match a lock exactly."""
    path = lock or lock_folder(target.find_project()) / LockFormat.PYLOCK.filename(target.part)
    search.search(target.find_project() if target.project else None)  # its indexes may have credentials
    changed = _place_to_change(target, target.project, exactly=True)
    outcome, installed = _install_locked(
        path, changed, search, exactly=True, attested=require_attestation, dry_run=output.dry_run or check
    )
    _report("sync", installed, outcome, output)
    if check and outcome.changes:
        raise FindingsError(
            "environment-differs",
            f"the environment and {path} differ in {number_of(len(outcome.changes), 'package')}",
            hint="'wheelmill sync' makes it hold what the lock does",
        )


def _place_to_change(
    target: TargetOptions, given: Path | None = None, *, exactly: bool = False
) -> tuple[TargetOptions, InstallPlace]:
    """Find the environment to change; one that is not the project's must be named, or only get more packages."""
    from wheelmill.client.project.tool_project import ToolProject

    if target.python_path:
        return target, install_place_of(target)
    project = project_here(given, changes=True)
    of_project = replace(target, python_path=project.find_python())
    place, own, active = install_place_of(of_project), project.environment, active_environment()
    base, has_tool = os.path.realpath(place.base), isinstance(project, ToolProject)
    is_active = active is not None and os.path.realpath(active) == base
    is_own = own is not None and os.path.realpath(own) == base
    if own and not has_tool:  # then it may be just the active one
        is_own &= own.is_relative_to(lock_folder(project)) or bool(given and own == project.root)
    if not is_own and (exactly or (has_tool and active and not is_active)):
        whose = (
            "the active environment" if is_active else "another environment" if place.is_virtual else "a global Python"
        )
        command = "" if has_tool else " with 'uv venv'"
        raise UsageError(
            "environment-not-own",
            f"{place} is {whose}, not that of the project in {lock_folder(project)}",
            hint=f"make the project's own{command}, or name this one: --python-path {place.interpreter}",
        )
    return of_project, place


def _install_locked(
    path: Path,
    changed: tuple[TargetOptions, InstallPlace],
    search: SearchOptions,
    *,
    exactly: bool = False,
    attested: bool = False,
    dry_run: bool,
) -> tuple[EnvironmentChange, Installation]:
    from wheelmill.client.lock.files import (
        content_for,
        describe_forms,
        install_locked,
        packages_of_lock,
        read_lock,
        wheels_for,
    )

    locked, (target, place) = read_lock(path), changed
    is_kept = not exactly or dry_run or not is_ours(place.interpreter)
    if not is_kept and "wheelmill" not in {package.name for package in locked.packages}:
        raise UsageError(
            "lock-without-wheelmill",
            f"wheelmill runs in {place}, and {path} would remove it",
            hint="run a wheelmill that is installed elsewhere: 'uv tool install wheelmill'",
        )
    with exclusive(place.base):
        environment = target.detect()
        wheels = [WheelName.parse(wheel.filename) for wheel in wheels_for(locked, environment)]
        if others := describe_forms(content_for(locked, environment)[1].values()):
            say(f"not installed from the lock, and left as they are: {others}")
        check_driver(needs_of_wheels(wheels, read_facts()), environment)
        interpreter_of(environment)  # also before a dry run
        if dry_run:
            present = packages_of(place)
            after = packages_of_lock(locked, environment, present, exactly=exactly)
            return EnvironmentChange.between(present, after, {}), Installation(wheels=())
        with transaction(place.base, (), place) as outcome, wheel_cache(search) as cache:
            installed = install_locked(locked, environment, cache, exactly=exactly, attested=attested)
    return outcome, installed


def _report(command: str, installed: Installation, outcome: EnvironmentChange, output: ReportOptions) -> None:
    for wheel in installed.wheels:
        say(f"  {wheel.path.name}, sha256 {wheel.sha256}")
    content: InstallationContent = {
        "installed": {
            wheel.project: {"filename": wheel.path.name, "sha256": wheel.sha256, "size": wheel.size}
            for wheel in installed.wheels
        },
        "removed": installed.removed,
        **outcome.content,
    }
    output.report(outcome, {"schema": f"wheelmill.{command}/1", **content})
