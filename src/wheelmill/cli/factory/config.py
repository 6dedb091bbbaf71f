"""``wheelmill config``: the files that say what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.factory import config_drift, config_images
from wheelmill.cli.factory.filters import FilterOptions
from wheelmill.cli.factory.inputs import ConfigOption, config_at, config_to_change
from wheelmill.cli.shared.options import CONFIG_VARIABLE
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.config.generated import generated_files
from wheelmill.config.load import LOCK, PACKAGES
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.upkeep.amend import amend
from wheelmill.config.upkeep.issue import entry_from
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.system.files import write_bytes

app = typer.Typer(no_args_is_help=True, help="Check, lock and update the files that say what is built.")


@app.command()
def check(
    directory: Annotated[
        Path | None,
        typer.Argument(
            help="Configuration folder; ./config, else the one that ships.", metavar="[DIR]", envvar=CONFIG_VARIABLE
        ),
    ] = None,
) -> None:
    """Read every file and name every fault: file, line, column, key. Exits with 2 when there is one."""
    config = config_at(directory)
    STDERR.print(escape(f"{config.directory}: {_count(len(config.packages), 'package')}, no faults"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


@app.command()
def lock(
    projects: Annotated[list[str] | None, typer.Argument(help="Only these.", metavar="[PROJECT...]")] = None,
    directory: ConfigOption = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Look up again what is already locked.")] = False,  # noqa: FBT002
) -> None:
    """Look up sources and build requirements of packages.yml and write their hashes to packages.lock."""
    config = config_to_change(directory)
    locked = lock_packages(config, FilterOptions().of(projects or ()).projects, upgrade=upgrade)
    write_lock(locked, config.directory)
    counts = (
        _count(sum(map(len, locked.sdists.values())), "source distribution"),
        _count(sum(map(len, locked.commits.values())), "commit"),
        f"requirements of {_count(len(locked.requirements), 'package')}",
    )
    STDERR.print(escape(f"{config.directory / LOCK}: {', '.join(counts)}"))


@app.command()
def add(
    *,
    issue: Annotated[
        Path, typer.Option("--from-issue", help="The text of an issue that answers the request form.", metavar="FILE")
    ],
    directory: ConfigOption = None,
) -> None:
    """Add what a package request asks for to packages.yml; comments and layout stay as they are."""
    config = config_to_change(directory)
    name, entry = entry_from(issue)
    if name in config.packages:
        raise UsageError(f"{name} is in {config.directory / PACKAGES} already", hint="add the versions to its entry")
    amend(config.directory / PACKAGES, {("packages", name): entry})
    STDERR.print(escape(f"{config.directory / PACKAGES}: added {name}; now run: wheelmill config lock {name}"))


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
            STDERR.print(escape(f"{path}: written"))
        elif current:
            STDERR.print(escape(f"{path}: current"))
        else:
            stale.append(str(path))
    if stale:
        raise IntegrityError(f"{', '.join(stale)}: not current", hint="wheelmill config schema --write")


app.command()(config_drift.drift)
app.command()(config_images.images)
