"""The exit codes of each command beside 0, 1 and 2, which all of them have; tests hold commands to the pages."""

import subprocess
from collections.abc import Mapping, Sequence

from tests.reference.schemas import check_output

_COMMANDS: Mapping[tuple[int, ...], str] = {
    (): "environment, search, remove, list, cache info, cache clean, config check, config only",
    (8, 9, 10): "resolve, explain, available, update, lock, install, sync, doctor",
    (9, 10): "show, config lock, config add, config drift, config symbols, config images, init, github check",
    (4, 8, 9, 10): "add",
    (9,): "test, config schema, export kernels",
    (4, 6, 9, 10): "plan",
    (6, 9, 10): "release ledger, release downloads, release variants, release drafts, summary",
    (3, 4, 9, 10): "build",
    (5, 6, 9, 10): "smoke",
    (3, 6, 9, 10): "release publish",
    (7, 9, 10): "index check",
    (6, 7, 9, 10): "index build",
    (6, 7, 10): "index upload",
    (7,): "index serve",
    (3, 4, 5, 6, 7, 9, 10): "run",
}
EXITS = {command: codes for codes, commands in _COMMANDS.items() for command in commands.split(", ")}

_OF_ALL = (0, 1, 2)
_DEFAULT = {"release": "release publish"}
"""What a group does that no command of it is named for."""


def command_in(words: Sequence[str]) -> str | None:
    """The command that a command line names; None where it is none, such as ``--help``."""
    for length in (2, 1):
        path = " ".join(words[:length])
        if path in EXITS:
            return path
    return _DEFAULT.get(next(iter(words), ""))


def check_exit(words: Sequence[str], returncode: int) -> None:
    """Compare how a command ended with what the page says; one that a signal ended has a code of its own."""
    if (command := command_in(words)) and 0 <= returncode < 128:
        documented = (*_OF_ALL, *EXITS[command])
        assert returncode in documented, f"{command} ended with {returncode}: add it to tests/reference/exits.py"


def check_documented(words: Sequence[object], done: subprocess.CompletedProcess[str]) -> None:
    """Compare an exit code, and what was printed as JSON, with what the pages say of the command."""
    check_exit([*map(str, words)], done.returncode)
    check_output(done.stdout)
