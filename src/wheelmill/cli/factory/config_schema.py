"""``wheelmill config schema``: what editors know about the files under ``config/``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.shared.terminal import STDERR
from wheelmill.config.json_schema import json_schemas
from wheelmill.errors import IntegrityError
from wheelmill.system.files import write_bytes


def schema(
    directory: Annotated[
        Path, typer.Argument(help="Configuration folder.", metavar="[DIR]", exists=True, file_okay=False)
    ] = Path("config"),
    *,
    write: Annotated[bool, typer.Option("--write", help="Write the ones that are missing or not current.")] = False,
) -> None:
    """Check the JSON schemas beside the files under config. Exits with 9 when one is not current."""
    stale = []
    for name, content in json_schemas().items():
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
