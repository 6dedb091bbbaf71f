"""``wheelmill config``: the files that say what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.config_add import add
from wheelmill.cli.factory.config_upkeep import drift, images, symbols
from wheelmill.cli.factory.filters import FilterOptions
from wheelmill.cli.factory.inputs import (
    CONFIGURATION,
    CloneOption,
    ConfigOption,
    config_at,
    hold_config,
    place_at,
    use_clones,
)
from wheelmill.cli.shared.commands import say
from wheelmill.cli.shared.options import CONFIG_VARIABLE
from wheelmill.config.load import generated_files, lock_path
from wheelmill.config.lock import lock_changes, lock_packages, newer_versions, write_lock
from wheelmill.config.model import Lock
from wheelmill.errors import IntegrityError
from wheelmill.system.files import write_bytes
from wheelmill.system.progress import number_of

app = typer.Typer(no_args_is_help=True, help="Check, lock and update the files that say what is built.")


@app.command()
def check(
    directory: Annotated[
        Path | None,
        typer.Argument(help=f"{CONFIGURATION}.", metavar="[DIR_OR_FILE]", envvar=CONFIG_VARIABLE),
    ] = None,
) -> None:
    """Read every file and name every fault by file, line, column and key. Exits with 2 when there is one."""
    config = config_at(directory, check_ranges=True)
    for name, package in config.packages.items():
        if waiting := [version for version in package.versions if config.lock.lacks_commit(package, version)]:
            say(f"{name} {', '.join(waiting)}: not locked, so not planned; 'wheelmill config lock {name}' does that")
    say(f"{place_at(directory)}: {number_of(len(config.packages), 'package')}, no faults")


@app.command()
def lock(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    directory: ConfigOption = None,
    clone: CloneOption = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Look up again what is already locked.")] = False,  # noqa: FBT002
) -> None:
    """Look up sources and build requirements of packages.yml and write their hashes to packages.lock.

    A package that fails keeps its earlier lock; the others are written, and the exit code is that of the failure.
    """
    with hold_config(directory) as config:
        with use_clones(clone):
            locking = lock_packages(config, FilterOptions().of(projects or ()).projects, upgrade=upgrade)
        newer = newer_versions(config, locking.locked) if upgrade else ()
        news = [*lock_changes(config.lock, locking.lock), *newer]
        if locking.locked or not locking.failures:
            write_lock(locking.lock, lock_path(config.file))
            say(f"{lock_path(config.file)}: {_contents(locking.lock)}")
    for line in news:
        say(line)
    for name, error in locking.failures.items():
        say(f"{name}: not locked: {error.explained}")
    if locking.failures:
        raise typer.Exit(min(error.exit_code for error in locking.failures.values()))


def _contents(lock: Lock) -> str:
    counts = (
        number_of(sum(map(len, lock.sdists.values())), "source distribution"),
        number_of(sum(map(len, lock.commits.values())), "commit"),
        f"requirements of {number_of(len(lock.requirements), 'package')}",
    )
    return ", ".join(counts)


app.command()(add)


@app.command()
def schema(
    directory: Annotated[
        Path, typer.Argument(help="Configuration folder.", metavar="[DIR]", exists=True, file_okay=False)
    ] = Path("config"),
    *,
    write: Annotated[bool, typer.Option("--write", help="Write the ones that are missing or not current.")] = False,
) -> None:
    """Check the JSON files that are made from those under config. Exits with 9 when one is not current."""
    stale = []
    for name, content in generated_files(directory).items():
        path = directory / name
        current = path.exists() and path.read_bytes() == content
        if write and not current:
            write_bytes(path, content)
            say(f"{path}: written")
        elif current:
            say(f"{path}: current")
        else:
            stale.append(str(path))
    if stale:
        raise IntegrityError(
            "schema-outdated", f"{', '.join(stale)}: out of date", hint="wheelmill config schema --write"
        )


for command in (drift, symbols, images):
    app.command()(command)
