"""``wheelmill available``: the combinations that a package has wheels for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from rich.table import Table

from wheelmill.cli.client.resolve import (
    SearchOptions,
    absence_error,
    outcomes_content,
    package_argument,
    print_absence,
    say_warnings,
)
from wheelmill.cli.shared.commands import JsonOption, print_json
from wheelmill.cli.shared.options import TargetOptions, projects_of, with_groups
from wheelmill.cli.shared.terminal import STDOUT
from wheelmill.client.choose.explain import Combination, Offer, find_offer
from wheelmill.names import Platform, ProjectName, StableTorch
from wheelmill.system.progress import size
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Available, Offered


@with_groups
def available(
    projects: Annotated[list[str], package_argument("Packages: flash-attn.", "PROJECT...")],
    *,
    target: TargetOptions,
    search: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """Show the CUDA, torch and Python releases that packages have wheels for, and where. Exits with 8 without any."""
    environment = target.here().detect()
    platform = environment.platform
    found: dict[ProjectName, Offer] = {}
    for name in projects_of(projects):
        found[name] = offer = find_offer(name, platform, environment, search.search())
        say_warnings(offer.warnings, () if offer.combinations else offer.sources)
    outcomes = [each for offer in found.values() for each in offer.sources]
    if as_json:
        content: Available = {
            "schema": "wheelmill.available/1",
            "platform": platform,
            "projects": {name: list(map(_combination_content, offer.combinations)) for name, offer in found.items()},
            "sources": outcomes_content(outcomes),
        }
        print_json(content)
    else:
        for name, offer in found.items():
            _print_table(name, offer.combinations, platform)
    if missing := [name for name, offer in found.items() if not offer.combinations]:
        for name in missing:
            print_absence(name, found[name].absence, found[name].sources)
        raise absence_error(missing, outcomes)


def _combination_content(combination: Combination) -> Offered:
    """Return a combination as JSON; a range also as ``2.9+``, a form that is older than ``torch_abi``."""
    torch = combination.torch
    text = f"{torch.oldest}+" if isinstance(torch, StableTorch) else str(torch or "")
    return {
        "cuda": combination.cuda,
        "torch": text,
        "torch_abi": torch_in_json(torch)["torch_abi"],
        "pythons": combination.pythons,
        "sources": combination.sources,
        "smallest": combination.smallest,
        "largest": combination.largest,
    }


def _print_table(name: ProjectName, listed: tuple[Combination, ...], platform: Platform) -> None:
    headings = ("CUDA", "torch", "Python", "Size", "Sources")
    table = Table(*headings, title=f"{name} on {platform}", title_justify="left")
    for each in listed:
        torch = words_for(each.torch).removeprefix("torch ") if each.torch else "-"
        sizes = dict.fromkeys(size(number) for number in (each.smallest, each.largest) if number is not None)
        table.add_row(
            each.cuda or "-", torch, " ".join(each.pythons), " - ".join(sizes) or "-", ", ".join(each.sources)
        )
    if listed:
        STDOUT.print(table)
