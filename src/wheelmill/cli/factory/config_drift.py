"""``wheelmill config drift``: whether the facts about torch are still those of the package index."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.factory.inputs import ConfigOption, config_at, config_to_change
from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.cli.shared.terminal import STDERR, STDOUT
from wheelmill.config.generated import FACTS, facts_json
from wheelmill.config.load import COMPATIBILITY
from wheelmill.config.upkeep.drift import TorchDifference, find_drift, write_differences
from wheelmill.config.upkeep.published import published_torch
from wheelmill.errors import FindingsError, UsageError
from wheelmill.system.files import write_bytes


def drift(
    *,
    write: Annotated[bool, typer.Option("--write", help="Bring the file up to date.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare what compatibility.yml says of torch with the package index. Exits with 9 when they differ."""
    config = config_to_change(directory) if write else config_at(directory)
    if not config.compatibility.torch:
        raise UsageError(f"{config.directory / COMPATIBILITY} lists no torch")
    found = find_drift(config.compatibility, published_torch(since=min(config.compatibility.torch)))
    written = [difference for difference in found.differences if write and difference.writable]
    if written:
        today = dt.datetime.now(tz=dt.UTC).date()
        write_differences(config.directory / COMPATIBILITY, written, checked=today)
        if (facts := config.directory / FACTS).exists():
            write_bytes(facts, facts_json(config.directory))
    if as_json:
        differences = [asdict(difference) | {"torch": str(difference.torch)} for difference in found.differences]
        print_json("wheelmill.config-drift/1", differences=differences, unknown=found.unknown)
    else:
        for difference in found.differences:
            STDOUT.print(escape(_line(difference, write=write)))
    for sentence in found.unknown:
        STDERR.print(escape(sentence))
    if len(written) < len(found.differences):
        raise typer.Exit(FindingsError.exit_code)


def _line(difference: TorchDifference, *, write: bool) -> str:
    """What differs, and what became of it."""
    if not write:
        return str(difference)
    if not difference.writable:
        return f"{difference}; not written: the index does not tell all of it"
    if difference.fact == "missing":
        cuda = difference.index["default_cuda"]
        return f"{difference}; written with CUDA {cuda} on linux_x86_64 alone: the index knows no other"
    return f"{difference}; written"
