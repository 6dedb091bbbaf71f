"""Help, output and exit of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TextIO

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import TyperPath

from wheelmill.system.process import printable
from wheelmill.system.progress import Progress

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter  # typer has no public name for it
    from typer._click.formatting import HelpFormatter


_SIGPIPE: Final = 13
"""The number of SIGPIPE, which Windows does not have."""
_WHOLE: Final = 300
"""Maximum characters of a sentence; typer cuts them at 45."""


class Commands(TyperGroup):
    """Commands below headings, each with the whole first sentence of its help."""

    headings: ClassVar[Mapping[str, str]] = {}
    """The heading of each command; those without one stand below "Commands"."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - as typer calls it
        """Write the names and sentences of commands, in the order of the headings."""
        headed_rows = (
            (self.headings.get(name, "Commands"), (name, command.get_short_help_str(limit=_WHOLE)))
            for name, command in self.commands.items()
        )
        _write_sections(headed_rows, formatter)

    def make_context(self, *args: Any, **kwargs: Any) -> Context:  # noqa: ANN401 - as typer has it
        """Read the command line; that prints help, too."""
        with exit_on_broken_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Context) -> object:
        """Run the command."""
        with exit_on_broken_pipe():
            return super().invoke(ctx)


class CommandsWithDefault(Commands):
    """Commands of which one is the default if the first word names none of them."""

    default: ClassVar[str]
    """Name of the default command."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Insert the name if it is missing."""
        named = args[:1] == ["--help"] or (args[:1] and args[0] in self.commands)
        return super().parse_args(ctx, args if named else [self.default, *args])


class Command(TyperCommand):
    """Command that reports every invalid option at once; in help, its own options come before other panels."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as typer has it
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if isinstance(parameter.type, TyperPath):
                parameter.type = _Path(**vars(parameter.type))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # noqa: RET503 - fail() raises
        """Parse a command line; typer itself stops at the first invalid option."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter:
            given, rest, _ = self.make_parser(ctx).parse_args(words)
            faults = [fault for each in self.get_params(ctx) if (fault := _fault_of(each, ctx, given, rest))]
        ctx.fail("\nError: ".join(faults))

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments and options and what they mean."""
        records = (
            (parameter.param_type_name, getattr(parameter, "rich_help_panel", None), parameter.get_help_record(ctx))
            for parameter in self.get_params(ctx)
        )
        headed_rows = [(panel or f"{kind.capitalize()}s", record) for kind, panel, record in records if record]
        own = ("Arguments", "Options")
        headed_rows.sort(key=lambda each: own.index(each[0]) if each[0] in own else len(own))
        _write_sections(headed_rows, formatter)


class _Path(TyperPath):
    """Path that is not empty, as of an unset variable, and where a file must exist, no pipe or device."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of the replaced type
        vars(self).update(settings)

    def convert(self, value: Any, param: Parameter | None, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Convert a word to a path."""
        if not os.fspath(value):
            self.fail("expected a path, not ''.", param, ctx)
        path = super().convert(value, param, ctx)
        if self.exists and not (self.dir_okay or os.path.isfile(path)):  # noqa: PTH113 - an open pipe has no end
            self.fail(f"{value!r} is no regular file.", param, ctx)
        return path


def verbosity_option() -> TyperOption:
    """Option for more or less on stderr; the last one that is given counts."""

    def choose(_context: Context, _option: Parameter, is_verbose: bool | None) -> None:  # noqa: FBT001 - for typer
        if is_verbose is not None:
            from wheelmill.cli.shared.terminal import STDERR  # imports rich

            STDERR.quiet = not is_verbose
            _LOG.setLevel(logging.DEBUG if is_verbose else logging.ERROR)

    names, text = ["-v/-q", "--verbose/--quiet"], "Print every request and its answer, or results and errors alone."
    return TyperOption(param_decls=names, is_flag=True, default=None, expose_value=False, help=text, callback=choose)


def _fault_of(parameter: Parameter, ctx: Context, given: Mapping[str, Any], rest: list[str]) -> str | None:
    try:
        parameter.handle_parse_result(ctx, given, rest)
    except typer.BadParameter as error:
        return error.format_message()
    return None


def _write_sections(headed_rows: Iterable[tuple[str, tuple[str, str]]], formatter: HelpFormatter) -> None:
    """Write rows of two columns, each below its heading; headings come in the order in which they are first met."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for heading, row in headed_rows:
        sections.setdefault(heading, []).append(row)
    for heading, rows in sections.items():
        with formatter.section(heading):
            formatter.write_dl(rows)


@contextmanager
def exit_on_broken_pipe() -> Iterator[None]:
    """Exit as other programs do when the reader of their output has ended, as with 'head'.

    Python ignores SIGPIPE, so that a server which hangs up does not end a program: writing fails instead. The buffer is
    flushed here, where that error is still caught.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout:
                _flush(sys.stdout)
    except BrokenPipeError:
        _drop_unwritten(sys.stdout, sys.stderr)
        sys.exit(128 + _SIGPIPE)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _drop_unwritten(stream)  # which Python 3.11.2 would write again as it ends, and exit with 120
        raise


def _drop_unwritten(*streams: TextIO) -> None:
    """Redirect streams to the null device, so that Python drops their buffers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())


_HEARTBEAT: Final = 10.0
"""Seconds between lines without a terminal."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def print_json(content: Mapping[str, object]) -> None:
    """Print the one JSON object of a command, an iterator in it item by item as an array; see `print_quoted`."""
    for part in _json_parts(content):
        print_quoted(part, end="")


def _json_parts(content: Mapping[str, object]) -> Iterator[str]:
    from wheelmill.system.records import json_default  # help needs no records

    encode = json.JSONEncoder(indent=2, default=json_default).encode
    for start, (key, value) in zip(itertools.chain("{", itertools.repeat(",")), content.items(), strict=False):
        yield f"{start}\n  {encode(key)}: "
        if isinstance(value, Iterator):
            end = "[]"
            for opening, item in zip(itertools.chain("[", itertools.repeat(",")), value, strict=False):
                yield f"{opening}\n    " + encode(item).replace("\n", "\n    ")  # no text in JSON has a raw newline
                end = "\n  ]"
            yield end
        else:
            yield encode(value).replace("\n", "\n  ")
    yield "\n}\n"


def print_quoted(text: str, *, end: str = "\n") -> None:
    r"""Print JSON, or YAML with foreign text in double quotes only: both read ``\u0023`` as the # of ``##[``."""
    print(text.replace("##[", r"\u0023#["), end=end)


class _Lines(logging.Handler):
    """Prints records as lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        say(record.getMessage())


_LOG: Final = logging.getLogger("wheelmill")
"""Its level is how much is printed on stderr: INFO by default."""
_LOG.setLevel(logging.INFO)
_LOG.addHandler(_Lines())


def say(text: str, *, essential: bool = False) -> None:
    """Print a line on stderr, harmless for terminals and CI runners; --quiet leaves only the essential ones."""
    if essential or _LOG.isEnabledFor(logging.INFO):
        print(printable(text), file=sys.stderr)


def say_warning(text: str) -> None:
    """Print a warning; the command goes on."""
    say(f"warning: {text}")


class Waiting(Progress):
    """Progress on stderr without rich, which is slow to import: a changing line, or one now and then in a log."""

    def __init__(self, *, silent: float = 0.0) -> None:
        """Print nothing in the first seconds without a terminal."""
        self._next = time.monotonic() + silent

    def line(self, text: str) -> None:
        """Show a text; an empty one clears the line."""
        if _LOG.level != logging.INFO:  # --quiet, or --verbose, whose lines say more
            return
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{printable(text)[:width]:<{width}}", end="" if text else "\r", file=sys.stderr, flush=True)
        elif text and time.monotonic() >= self._next:
            self._next = time.monotonic() + _HEARTBEAT
            say(text)
