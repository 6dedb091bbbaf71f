"""``wheelmill config add``: a package request becomes an entry of packages.yml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.shared.options import ConfigOption, config_to_change
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.config.load import PACKAGES
from wheelmill.config.upkeep.amend import amend
from wheelmill.config.upkeep.issue import entry_from
from wheelmill.errors import UsageError


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
