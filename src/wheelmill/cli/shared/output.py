"""The output of commands: the result on stdout, everything else on stderr."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from wheelmill.system.process import printable
from wheelmill.system.progress import Progress

_HEARTBEAT: Final = 10.0
"""Seconds between signs of life where there is no terminal."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(content: Mapping[str, object]) -> None:
    """Print the one JSON object of a command; what a runner would take for an order is written in another way."""
    print_quoted(json.dumps(content, indent=2))


def plain(record: Any) -> Any:  # noqa: ANN401 - JSON
    """A record, several, or None as JSON has them, every field with its name."""
    return [asdict(each) for each in record] if isinstance(record, Sequence) else record and asdict(record)


def print_quoted(text: str) -> None:
    r"""Print JSON, or YAML with foreign text in double quotes only: both read ``\u0023`` as the # of ``##[``."""
    print(text.replace("##[", r"\u0023#["))  # noqa: T201 - as in `printable`


def say(text: str) -> None:
    """Print a line that is not part of the result; foreign text in it is made harmless for terminals and CI runners."""
    print(printable(text), file=sys.stderr)  # noqa: T201


def say_warning(text: str) -> None:
    """Print a warning; the command goes on."""
    say(f"warning: {text}")


class Waiting(Progress):
    """Says on stderr what a command waits for: in place on a terminal, else at once and then now and again.

    It does without rich, which takes longer to import than most commands wait.
    """

    def __init__(self, *, silent: float = 0.0) -> None:
        """Say nothing in the first seconds where there is no terminal."""
        self._next = time.monotonic() + silent

    def line(self, text: str) -> None:
        """Show it; an empty text takes away what was shown."""
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{printable(text)[:width]:<{width}}", end="" if text else "\r", file=sys.stderr, flush=True)  # noqa: T201
        elif text and time.monotonic() >= self._next:
            self._next = time.monotonic() + _HEARTBEAT
            say(text)
