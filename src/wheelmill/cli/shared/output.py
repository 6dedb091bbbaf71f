"""What commands print: the result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from wheelmill.system.output import printable

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(schema: str, **content: object) -> None:
    """Print the one JSON object of a command."""
    print(json.dumps({"schema": schema, **content}, indent=2))  # noqa: T201


def say(text: str) -> None:
    """Say something beside the result; foreign text in it moves no cursor and gives a runner no command."""
    print(printable(text), file=sys.stderr)  # noqa: T201
