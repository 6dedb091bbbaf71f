"""Output for people on a terminal: progress on stderr, results on stdout."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from rich.console import Console, ConsoleOptions
from rich.markup import escape
from rich.status import Status
from rich.text import Text

from wheelmill.system.process import printable
from wheelmill.system.progress import Progress

_NARROWEST: Final = 80
"""Columns that a table has at least."""


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's own
        """Make text printable, also in cells of tables."""
        return super().render_str(printable(text), **options)

    def on_broken_pipe(self) -> NoReturn:
        """Let the command line end the program; rich would exit with 1."""
        raise BrokenPipeError


class _Results(_Console):
    @property
    def options(self) -> ConsoleOptions:
        """Let a narrow terminal wrap the lines of tables, whose cells would be cut."""
        options = super().options
        return options.update_width(max(options.max_width, _NARROWEST))


STDOUT: Final = _Results(soft_wrap=True, highlight=False, emoji=False)
STDERR: Final = _Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)

_HEARTBEAT: Final = 60
"""Seconds between lines without a terminal: hosts end silent jobs."""


class TerminalProgress(Progress):
    """Progress with a line for each step; the output of a running program changes in place, or is sampled."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._began = self._told = time.monotonic()

    def step(self, text: str) -> None:
        """Print the step and the time since the last one began."""
        self._began = self._told = time.monotonic()
        STDERR.print(escape(text))
        self._status.update("")

    def line(self, text: str) -> None:
        """Show a line of a running program."""
        now = time.monotonic()
        shown = f"[{now - self._began:4.0f} s] {text[:120]}"
        if STDERR.is_terminal:
            self._status.update(escape(shown))
        elif now - self._told > _HEARTBEAT:
            self._told = now
            STDERR.print(escape(shown))


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress while the context is open."""
    with STDERR.status("") as status:
        yield TerminalProgress(status)
