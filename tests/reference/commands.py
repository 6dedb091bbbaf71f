"""The page of commands."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from tests.reference.described import Described, described, table
from tests.reference.exits import EXITS
from tests.reference.formats import lines_of_outputs
from wheelmill.cli import COMMANDS, HEADINGS, application

HEAD = """\
<!-- Made by `python -m tests.reference --write`: change the help of the commands instead. -->

# Commands

`--help` says the same, a command at a time. An option can be given as `--option value` or `--option=value`;
[a variable](environment-variables.md) is read where its option is not given. STORE is `dir:PATH`,
`github:OWNER/REPO` or `s3:BUCKET/PREFIX`. Every command can end with 0, 1 or 2, and a message says why.
"""


Row = tuple[str, str]

SEVERAL = 3
"""Commands with the same option, in the same words, for which it is explained once."""
COMMON = "Options of several commands"


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """Options that are explained once, for all commands that have them."""

    common: tuple[Row, ...]
    panels: dict[str, list[Row]] = field(default_factory=dict)
    """By their heading in the help; filled command by command."""


def commands_page() -> str:
    """Write the page."""
    found = list(described())
    tables = _Tables(common=_common(found))
    sections = [_section(each, tables) for each in found]
    groups = [f"## {heading}\n\n{_table(rows)}" for heading, rows in {COMMON: tables.common, **tables.panels}.items()]
    root = typer.main.get_command(application([]))
    own = Described(path="", command=root, default=False)  # type: ignore[arg-type]  # a group, as it has commands
    whole = f"## wheelmill\n\n{root.help}\n\n{_table([_row(each, own.context) for each in own.parameters])}"
    return "\n".join([HEAD, _contents(found), whole, *sections, *groups])


def _common(commands: Sequence[Described]) -> tuple[Row, ...]:
    counts = Counter(
        _row(option, command.context)
        for command in commands
        for option in command.parameters
        if isinstance(option, TyperOption) and not option.rich_help_panel
    )
    return tuple(sorted(row for row, count in counts.items() if count >= SEVERAL))


def _contents(found: Sequence[Described]) -> str:
    """A table for each kind of command, with a line for every one."""
    kinds: dict[str, list[Row]] = {}
    for each in found:
        if not isinstance(each.command, TyperGroup):
            heading = HEADINGS[COMMANDS[each.path.split()[0]][0].partition(".")[0]]
            link = f"[{each.path}](#wheelmill-{each.path.replace(' ', '-')})"
            kinds.setdefault(heading, []).append((link, each.command.get_short_help_str(limit=300)))
    return "\n".join(f"{heading}:\n\n{table(('command', 'does'), rows)}" for heading, rows in kinds.items())


def _section(each: Described, tables: _Tables) -> str:
    usage = "" if isinstance(each.command, TyperGroup) else f"{_usage(each)}\\\n"
    parts = [f"## wheelmill {each.path}", usage + _text(each.command.help or "")]
    own: list[Row] = []
    names: list[str] = []
    panels: dict[str, list[Row]] = {}
    for parameter in each.parameters:
        row = _row(parameter, each.context)
        if heading := getattr(parameter, "rich_help_panel", None):
            panels.setdefault(heading, []).append(row)
        elif row in tables.common:
            names.append(f"`{parameter.opts[-1]}`")
        else:
            own.append(row)
    for heading, rows in panels.items():
        assert tables.panels.setdefault(heading, rows) == rows, f"{each.path}: '{heading}' differs between commands"
    if own:
        parts.append(_table(own))
    links = {COMMON: ", ".join(names)} if names else {}
    links |= {heading: heading for heading in panels}
    if ends := [*_further(links), *_ends(each)]:
        parts.append("\n".join(ends))
    return "\n\n".join(map(str.rstrip, parts)) + "\n"


def _usage(each: Described) -> str:
    words = " ".join(each.command.collect_usage_pieces(each.context)).replace("{", "").replace("}", "")
    group, _, own = each.path.rpartition(" ")
    return f"`wheelmill {f'{group} [{own}]' if each.default else each.path} {words}`"


def _further(links: Mapping[str, str]) -> Iterator[str]:
    """The options that another section explains: what they are called here, by its heading."""
    if links:
        yield f"Also: {'; '.join(f'[{names}](#{_anchor(heading)})' for heading, names in links.items())}."


def _ends(each: Described) -> Iterator[str]:
    """What it prints for programs, and how it can end."""
    yield from lines_of_outputs(each.path)
    if codes := EXITS.get(each.path):
        yield f"[Exit codes](exit-codes.md) beside 0, 1 and 2: {', '.join(map(str, codes))}."


def _text(text: str) -> str:
    """Help as Markdown: a line a paragraph."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def _row(parameter: TyperArgument | TyperOption, context: Any) -> Row:
    """Its name and what help says of it, with what stands there between brackets: default, variable, limits."""
    name, said = parameter.get_help_record(context) or ("", "")
    return f"`{name}`", said


def _table(rows: Sequence[Row]) -> str:
    return table(("argument or option", "means"), rows)


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return "".join(each for each in heading.lower().replace(" ", "-") if each.isalnum() or each in "-_")
