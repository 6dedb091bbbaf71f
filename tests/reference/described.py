"""The commands, as the command line describes itself, and tables of what it says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from wheelmill.cli import COMMANDS, application
from wheelmill.cli.shared.commands import CommandsWithDefault


@dataclass(frozen=True, kw_only=True)
class Described:
    """A command that does something, or a group of them."""

    path: str
    """``index check``"""
    command: TyperCommand | TyperGroup
    default: bool
    """Whether its name may be left out."""

    @property
    def context(self) -> Any:  # typer has no public name for it
        """What the command describes itself with."""
        return self.command.context_class(self.command, info_name=f"wheelmill {self.path}")

    @property
    def parameters(self) -> Sequence[TyperArgument | TyperOption]:
        """Arguments and options, without --help."""
        return [each for each in self.command.params if isinstance(each, TyperArgument | TyperOption)]


def described() -> Iterator[Described]:
    """All commands, in the order of help; a group before its commands."""
    for name in COMMANDS:
        root = typer.main.get_command(application([name]))
        assert isinstance(root, TyperGroup)
        yield from _below(root.commands[name], name, default=False)


def _below(command: Any, path: str, *, default: bool) -> Iterator[Described]:
    yield Described(path=path, command=command, default=default)
    for name, each in getattr(command, "commands", {}).items():
        is_default = isinstance(command, CommandsWithDefault) and command.default == name
        yield from _below(each, f"{path} {name}", default=is_default)


def options_of_all() -> Iterator[TyperArgument | TyperOption]:
    """Arguments and options of all commands."""
    for each in described():
        yield from each.parameters


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write one; every text is on one line."""
    lines = [_line(headings), f"|{'---|' * len(headings)}", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """A text that ends no cell."""
    return " ".join(text.split()).replace("|", "\\|")
