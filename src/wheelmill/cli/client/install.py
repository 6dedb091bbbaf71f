"""``wheelmill install`` and ``sync``: what is in an environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.client.change import (
    EnvironmentChange,
    ProjectOptions,
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
from wheelmill.cli.client.resolve import SearchOptions, package_argument
from wheelmill.cli.shared.commands import say
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
    output: ReportOptions,
) -> None:
    """Install wheels into an environment, or what a lock holds.

    Every wheel's hash is checked before anything is installed; exits with 9 if one differs.
    """
    from wheelmill.client.install.installer import install_chosen, installer_for, interpreter_of, needs_of_choices

    if bool(requirements) == bool(lock):
        raise UsageError("packages-or-lock", "give either packages or --lock FILE")
    if lock:
        if require_attestation:
            raise UsageError(
                "attestation-not-for-locks",
                "--require-attestation is for wheels that are chosen; those of a lock are known by their hashes",
                hint="give it to 'wheelmill lock'",
            )
        outcome, installed = _install_locked(lock, target, search, exactly=False, dry_run=output.dry_run)
        _report("install", installed, outcome, output)
        return
    asked, target = requirements_of(requirements or ()), target.here()
    place = install_place_of(target)
    with exclusive(place.base):
        (resolution,) = resolve_for_all(asked, [target], search, require_attestation=require_attestation)
        check_driver(needs_of_choices(resolution, read_facts()), resolution.environment)
        interpreter = interpreter_of(resolution.environment)
        if output.dry_run:
            outcome, installed = forecast(resolution, place, search, {}), Installation(wheels=())
        else:
            with transaction(place.base, (), place) as outcome, wheel_cache(search) as (cache, shown):
                installer = installer_for(interpreter, shown, offline=cache.offline)
                installed = install_chosen(resolution, cache, installer, progress=shown)
    _report("install", installed, outcome, output)


@with_groups
def sync(
    *,
    lock: LockOption = None,
    target: ProjectOptions,
    search: SearchOptions,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 9 if the environment differs from the lock.")
    ] = False,
    output: ReportOptions,
) -> None:
    """Make an environment hold what a lock holds, and nothing else."""
    path = lock or lock_folder(target.find_project()) / "pylock.toml"
    outcome, installed = _install_locked(path, target, search, exactly=True, dry_run=output.dry_run or check)
    _report("sync", installed, outcome, output)
    if check and outcome.changes:
        raise FindingsError(
            "environment-differs",
            f"the environment and {path} differ in {number_of(len(outcome.changes), 'package')}",
            hint="'wheelmill sync' makes it hold what the lock does",
        )


def _install_locked(
    path: Path, target: TargetOptions, search: SearchOptions, *, exactly: bool, dry_run: bool
) -> tuple[EnvironmentChange, Installation]:
    from wheelmill.client.install.installer import installer_for, interpreter_of, needs_of_wheels
    from wheelmill.client.lock.files import install_locked, packages_of_lock, read_lock, wheels_for

    locked, target = read_lock(path), target.here()
    place = install_place_of(target)
    with exclusive(place.base):
        environment = target.detect()
        wheels = (WheelName.parse(wheel.filename) for wheel in wheels_for(locked, environment))
        check_driver(needs_of_wheels(wheels, read_facts()), environment)
        interpreter = interpreter_of(environment)
        if dry_run:
            present = packages_of(place)
            after = packages_of_lock(locked, environment, present, exactly=exactly)
            return EnvironmentChange.between(present, after, {}), Installation(wheels=())
        with transaction(place.base, (), place) as outcome, wheel_cache(search) as (cache, shown):
            installer = installer_for(interpreter, shown, offline=cache.offline)
            installed = install_locked(locked, environment, cache, installer, exactly=exactly, progress=shown)
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
