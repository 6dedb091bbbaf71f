"""``wheelmill summary``: what became of a plan that many jobs worked on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.shared.output import JsonOption, print_json


def summary(
    reports: Annotated[Path, typer.Argument(help="Folder of GROUP.json files, each from 'run --json'.", metavar="DIR")],
    *,
    plan: Annotated[Path, typer.Option(help="What 'plan --matrix' printed.", metavar="FILE", exists=True)],
    rerun: Annotated[
        str | None, typer.Option(help="The command to show that runs failed groups again.", metavar="COMMAND")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say in Markdown what the jobs of a plan built, what failed and how, and what is left."""
    from wheelmill.pipeline.summary import markdown_of, summary_of  # noqa: PLC0415 - needs the factory extra

    found = summary_of(plan, reports)
    if as_json:
        print_json(
            "wheelmill.summary/1",
            done=found.groups("done"),
            failed=found.groups("failed", "lost"),
            again=found.again,
        )
    else:
        typer.echo(markdown_of(found, rerun=rerun), nl=False)
