"""``wheelmill install`` and ``sync``: what is in an environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.client.change import (
    DryRunOption,
    EnvironmentChange,
    ProjectOption,
    alone,
    environment_here,
    forecast,
    heed_driver,
    lock_folder,
    packages_of,
    project_of,
    resolve_for_all,
    undoable,
    wheel_cache,
)
from wheelmill.cli.client.resolve import SearchOptions, package_argument
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import SignerOption, TargetOptions, requirements_of, with_groups
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.install.installer import Installation
from wheelmill.errors import FindingsError, UsageError
from wheelmill.system.progress import number_of
from wheelmill.wheel.name import WheelName

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import InstallationContent

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
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Install wheels into an environment, or what a lock holds.

    Every wheel's hash is checked before anything is installed; exits with 9 if one differs.
    """
    from wheelmill.client.install.installer import (  # noqa: PLC0415 - only what installs
        install_chosen,
        installer_for,
        interpreter_of,
        needs_of_choices,
    )

    if bool(requirements) == bool(lock):
        raise UsageError("packages-or-lock", "give either packages or --lock FILE")
    if lock:
        if require_attestation:
            raise UsageError(
                "attestation-not-for-locks",
                "--require-attestation is for wheels that are chosen; those of a lock are known by their hashes",
                hint="give it to 'wheelmill lock'",
            )
        outcome, installed = _install_locked(lock, target, search, exactly=False, dry_run=dry_run)
        _print_installation(installed, outcome, "install", as_json=as_json)
        return
    asked, target = requirements_of(requirements or ()), target.here()
    place = environment_here(target)
    with alone(place.base):
        (resolution,) = resolve_for_all(asked, [target], search, require_attestation=require_attestation)
        heed_driver(needs_of_choices(resolution, read_facts()), resolution.environment)
        interpreter = interpreter_of(resolution.environment)
        if dry_run:
            outcome, installed = forecast(resolution, place, search, {}), Installation(wheels=())
        else:
            with undoable(place.base, (), place) as outcome, wheel_cache(search) as (cache, shown):
                installer = installer_for(interpreter, shown, offline=cache.offline)
                installed = install_chosen(resolution, cache, installer, progress=shown)
    _print_installation(installed, outcome, "install", as_json=as_json)


@with_groups
def sync(
    *,
    target: TargetOptions,
    search: SearchOptions,
    lock: LockOption = None,
    project: ProjectOption = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 9 if the environment differs from the lock.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make an environment hold what a lock holds, and nothing else."""
    path = lock or lock_folder(project_of(project, target)) / "pylock.toml"
    outcome, installed = _install_locked(path, target, search, exactly=True, dry_run=dry_run or check)
    _print_installation(installed, outcome, "sync", as_json=as_json)
    if check and outcome.changes:
        raise FindingsError(
            "environment-differs",
            f"the environment and {path} differ in {number_of(len(outcome.changes), 'package')}",
            hint="'wheelmill sync' makes it hold what the lock does",
        )


def _install_locked(
    path: Path, target: TargetOptions, search: SearchOptions, *, exactly: bool, dry_run: bool
) -> tuple[EnvironmentChange, Installation]:
    from wheelmill.client.install.installer import installer_for, interpreter_of, needs_of_wheels  # noqa: PLC0415
    from wheelmill.client.lock.files import install_locked, packages_of_lock, read_lock, wheels_for  # noqa: PLC0415

    locked, target = read_lock(path), target.here()
    place = environment_here(target)
    with alone(place.base):
        environment = target.detect()
        wheels = (WheelName.parse(wheel.filename) for wheel in wheels_for(locked, environment))
        heed_driver(needs_of_wheels(wheels, read_facts()), environment)
        interpreter = interpreter_of(environment)
        if dry_run:
            present = packages_of(place)
            after = packages_of_lock(locked, environment, present, exactly=exactly)
            return EnvironmentChange.between(present, after, {}), Installation(wheels=())
        with undoable(place.base, (), place) as outcome, wheel_cache(search) as (cache, shown):
            installer = installer_for(interpreter, shown, offline=cache.offline)
            installed = install_locked(locked, environment, cache, installer, exactly=exactly, progress=shown)
    return outcome, installed


def _print_installation(installed: Installation, outcome: EnvironmentChange, command: str, *, as_json: bool) -> None:
    for wheel in installed.wheels:
        say(f"  {wheel.path.name}, sha256 {wheel.sha256}")
    outcome.tell()
    if as_json:
        content: InstallationContent = {
            "installed": {
                wheel.project: {"filename": wheel.path.name, "sha256": wheel.sha256, "size": wheel.size}
                for wheel in installed.wheels
            },
            "removed": installed.removed,
            **outcome.content,
        }
        print_json({"schema": f"wheelmill.{command}/1", **content})
