"""The page of commands."""

from collections.abc import Iterator, Sequence
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


def commands_page() -> str:
    """Write the page."""
    found = list(described())
    shared: dict[str, list[Row]] = {}
    sections = [_section(each, shared) for each in found]
    groups = [f"## {heading}\n\n{_table(rows)}" for heading, rows in shared.items()]
    root = typer.main.get_command(application([]))
    own = Described(path="", command=root, default=False)  # type: ignore[arg-type]  # a group, as it has commands
    whole = f"## wheelmill\n\n{root.help}\n\n{_table([_row(each, own.context) for each in own.parameters])}"
    return "\n".join([HEAD, _contents(found), whole, *sections, *groups])


def _contents(found: Sequence[Described]) -> str:
    """A table for each kind of command, with a line for every one."""
    kinds: dict[str, list[Row]] = {}
    for each in found:
        if not isinstance(each.command, TyperGroup):
            heading = HEADINGS[COMMANDS[each.path.split()[0]][0].partition(".")[0]]
            link = f"[{each.path}](#wheelmill-{each.path.replace(' ', '-')})"
            kinds.setdefault(heading, []).append((link, each.command.get_short_help_str(limit=300)))
    return "\n".join(f"{heading}:\n\n{table(('command', 'does'), rows)}" for heading, rows in kinds.items())


def _section(each: Described, shared: dict[str, list[Row]]) -> str:
    group = isinstance(each.command, TyperGroup)
    words = " ".join(each.command.collect_usage_pieces(each.context)).replace("{", "").replace("}", "")
    group_name, _, own_name = each.path.rpartition(" ")
    name = f"{group_name} [{own_name}]" if each.default else each.path
    parts = [f"## wheelmill {each.path}", f"```text\nwheelmill {name} {words}\n```", _text(each.command.help or "")]
    panels: dict[str, list[Row]] = {}
    for parameter in each.parameters:
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append(_row(parameter, each.context))
    if own := panels.pop("", None):
        parts.append(_table(own))
    for heading, rows in panels.items():
        assert shared.setdefault(heading, rows) == rows, f"{each.path}: '{heading}' differs between commands"
    if panels:
        links = " and ".join(f"[{heading}](#{_anchor(heading)})" for heading in panels)
        parts.append(f"And the options of {links}.")
    if not group:
        parts += _ends(each)
    return "\n\n".join(map(str.rstrip, parts)) + "\n"


def _ends(each: Described) -> Iterator[str]:
    yield from lines_of_outputs(each.path)
    if codes := EXITS[each.path]:
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
