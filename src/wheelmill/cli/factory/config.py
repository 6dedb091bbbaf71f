"""``wheelmill config``: the files that say what is built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.factory import config_add, config_drift, config_images, config_schema
from wheelmill.cli.factory.filters import FilterOptions
from wheelmill.cli.shared.options import CONFIG_VARIABLE, ConfigOption, config_at, config_to_change
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.config.load import LOCK
from wheelmill.config.lock import lock_packages, write_lock

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
    STDERR.print(escape(f"{config.directory}: {_counted(len(config.packages), 'package')}, no faults"))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


@app.command()
def lock(
    projects: Annotated[list[str] | None, typer.Argument(help="Only these.", metavar="[PROJECT...]")] = None,
    directory: ConfigOption = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Look up anew what is locked.")] = False,  # noqa: FBT002
) -> None:
    """Look up sources and build requirements of packages.yml and write their hashes to packages.lock."""
    config = config_to_change(directory)
    locked = lock_packages(config, FilterOptions().of(projects or ()).projects, upgrade=upgrade)
    write_lock(locked, config.directory)
    counts = (
        _counted(len(locked.sdists), "source distribution"),
        _counted(len(locked.commits), "commit"),
        f"requirements of {_counted(len(locked.requirements), 'package')}",
    )
    STDERR.print(escape(f"{config.directory / LOCK}: {', '.join(counts)}"))


app.command()(config_add.add)
app.command()(config_drift.drift)
app.command()(config_images.images)
app.command()(config_schema.schema)
