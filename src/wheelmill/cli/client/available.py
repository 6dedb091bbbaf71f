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
from wheelmill.names import Platform, ProjectName, StableTorch
from wheelmill.wheel.torch_need import torch_in_json, words_for


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
        content = {name: [_combination_content(each) for each in listed] for name, listed in found.items()}
        print_json("wheelmill.available/1", platform=str(environment.platform), projects=content)
    else:
        for name, listed in found.items():
            _print_table(name, listed, environment.platform)
    if missing := [name for name, listed in found.items() if not listed]:
        raise NoWheelError(f"no wheel of {', '.join(missing)} for {environment.platform}")


def _combination_content(combination: Combination) -> dict[str, object]:
    """A combination as JSON shows it, a range also as ``2.9+``, which is older than ``torch_abi``."""
    torch = combination.torch
    text = f"{torch.oldest}+" if isinstance(torch, StableTorch) else str(torch or "")
    return {"cuda": combination.cuda, **torch_in_json(torch), "torch": text, "pythons": list(combination.pythons)}


def _print_table(name: ProjectName, listed: tuple[Combination, ...], platform: Platform) -> None:
    table = Table("CUDA", "torch", "Python", title=f"{name} on {platform}", title_justify="left")
    for each in listed:
        torch = words_for(each.torch).removeprefix("torch ") if each.torch else "-"
        table.add_row(each.cuda or "-", torch, " ".join(each.pythons))
    if listed:
        STDOUT.print(table)
