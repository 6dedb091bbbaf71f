"""``wheelmill plan``: what would be built, and why the rest would not."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from wheelmill.cli.options import (
    DEFAULT_STORE,
    ConfigOption,
    CudaOption,
    ForceOption,
    JsonOption,
    PlatformOption,
    PythonOption,
    StoreOption,
    TorchOption,
    VersionOption,
    config_at,
    filters_of,
    store_at,
)
from wheelmill.cli.terminal import STDOUT, print_json
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.records import PLAN_SCHEMA, Cell, Plan
from wheelmill.release.publish import published_cells


def plan(
    projects: Annotated[
        list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")
    ] = None,
    *,
    version: VersionOption = None,
    python: PythonOption = None,
    cuda: CudaOption = None,
    torch: TorchOption = None,
    platform: PlatformOption = None,
    force: ForceOption = False,
    config: ConfigOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """List the wheels that would be built, and why the others would not."""
    filters = filters_of(
        projects=projects,
        version=version,
        python=python,
        cuda=cuda,
        torch=torch,
        platforms=platform,
        force=force,
    )
    planned = make_plan(config_at(config), filters, published_cells(store_at(store).manifests()))
    if as_json:
        print_json(PLAN_SCHEMA, **plan_content(planned))
    else:
        _print_tables(planned)


def plan_content(planned: Plan) -> dict[str, object]:
    """The plan as the JSON of the contract."""
    return {
        "targets": [
            {**cell_content(target.cell), "policy": "auto", "group": target.cell.group} for target in planned.targets
        ],
        "skips": [{**cell_content(skip.cell), "reason": skip.reason} for skip in planned.skips],
        "counts": {
            "cells": len(planned.targets) + len(planned.skips),
            "wheels": len(planned.targets),
            "skips": len(planned.skips),
        },
    }


def cell_content(cell: Cell) -> dict[str, object]:
    """A cell as JSON shows it."""
    return {
        "id": cell.id,
        "project": cell.project,
        "version": cell.version,
        "python": str(cell.python),
        "cuda": str(cell.cuda),
        "torch": str(cell.torch) if cell.torch else None,
        "platform": cell.platform,
    }


def _print_tables(planned: Plan) -> None:
    targets = Table("project", "version", "Python", "CUDA", "torch", "platform", title="To build", title_justify="left")
    for target in planned.targets:
        cell = target.cell
        targets.add_row(
            cell.project,
            cell.version,
            str(cell.python),
            str(cell.cuda),
            str(cell.torch or "-"),
            cell.platform,
        )
    skips = Table("cells", "project", "reason", title="Skipped", title_justify="left")
    reasons = Counter((skip.cell.project, skip.reason) for skip in planned.skips)
    for (project, reason), count in reasons.items():
        skips.add_row(str(count), project, reason)
    for table in (targets, skips):
        if table.row_count:
            STDOUT.print(table)
    STDOUT.print(f"{len(planned.targets)} wheels to build, {len(planned.skips)} cells skipped")
