"""What commands print: the result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from typing import Annotated, Final

import typer

from wheelmill.system.output import printable
from wheelmill.system.progress import Progress

_HEARTBEAT: Final = 10.0
"""Seconds between signs of life where there is no terminal."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(schema: str, **content: object) -> None:
    """Print the one JSON object of a command."""
    print(json.dumps({"schema": schema, **content}, indent=2))  # noqa: T201


def say(text: str) -> None:
    """Say something beside the result; foreign text in it moves no cursor and gives a runner no command."""
    print(printable(text), file=sys.stderr)  # noqa: T201


def say_warning(text: str) -> None:
    """Say that something is not as it should be; the command goes on."""
    say(f"warning: {text}")


class Waiting(Progress):
    """Says on stderr what a command waits for: in place on a terminal, else at once and then now and again.

    It does without rich, which takes longer to import than most commands wait.
    """

    def __init__(self) -> None:
        self._told = -math.inf

    def line(self, text: str) -> None:
        """Show it; an empty text takes away what was shown."""
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{printable(text)[:width]:<{width}}", end="" if text else "\r", file=sys.stderr, flush=True)  # noqa: T201
        elif text and time.monotonic() - self._told > _HEARTBEAT:
            self._told = time.monotonic()
            say(text)
