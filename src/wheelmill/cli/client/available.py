"""``wheelmill available``: the combinations that a package has wheels for."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from wheelmill.cli.client.search import SearchOptions
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.cli.shared.target import TargetOptions, projects_of
from wheelmill.cli.shared.terminal import STDOUT
from wheelmill.client.choose.combinations import Combination, combinations
from wheelmill.errors import NoWheelError
from wheelmill.names import Platform, ProjectName


@with_groups
def available(
    projects: Annotated[list[str], typer.Argument(help="Packages.", metavar="PROJECT...")],
    *,
    target: TargetOptions,
    search: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """Show the CUDA, torch and Python releases that packages have wheels for. Exits with 8 when one has none."""
    environment = target.detect()
    found: dict[ProjectName, tuple[Combination, ...]] = {}
    for name in projects_of(projects):
        found[name], warnings = combinations(name, environment.platform, environment, search.search())
        for warning in warnings:
            say(f"warning: {warning}")
    if as_json:
        content = {
            name: [{"cuda": each.cuda, "torch": each.torch, "pythons": list(each.pythons)} for each in listed]
            for name, listed in found.items()
        }
        print_json("wheelmill.available/1", platform=str(environment.platform), projects=content)
    else:
        for name, listed in found.items():
            _print_table(name, listed, environment.platform)
    if missing := [name for name, listed in found.items() if not listed]:
        raise NoWheelError(f"no wheel of {', '.join(missing)} for {environment.platform}")


def _print_table(name: ProjectName, listed: tuple[Combination, ...], platform: Platform) -> None:
    table = Table("CUDA", "torch", "Python", title=f"{name} on {platform}", title_justify="left")
    for each in listed:
        table.add_row(each.cuda or "-", each.torch or "-", " ".join(each.pythons))
    if listed:
        STDOUT.print(table)
