"""The exit codes of each command beside 0, 1 and 2, which all of them have; tests of commands hold them to it."""

from collections.abc import Mapping, Sequence

EXITS: Mapping[str, tuple[int, ...]] = {
    "environment": (),
    "resolve": (8, 9, 10),
    "search": (),
    "available": (8, 9, 10),
    "explain": (),
    "show": (9, 10),
    "add": (4, 8, 9, 10),
    "remove": (),
    "update": (8, 9, 10),
    "lock": (8, 9, 10),
    "install": (8, 9, 10),
    "sync": (8, 9, 10),
    "list": (),
    "test": (9,),
    "doctor": (8, 9, 10),
    "cache info": (),
    "cache clean": (),
    "config check": (),
    "config lock": (9, 10),
    "config add": (9, 10),
    "config schema": (9,),
    "config drift": (9, 10),
    "config symbols": (9, 10),
    "config images": (9, 10),
    "init": (9, 10),
    "plan": (6, 9, 10),
    "build": (3, 4, 9, 10),
    "smoke": (5, 6, 9, 10),
    "release publish": (3, 6, 9, 10),
    "release ledger": (6, 9, 10),
    "release downloads": (6, 9, 10),
    "release variants": (6, 9, 10),
    "release drafts": (6, 9, 10),
    "index check": (7, 9, 10),
    "index build": (6, 7, 9, 10),
    "index upload": (6, 7, 10),
    "index serve": (7,),
    "export kernels": (9,),
    "run": (3, 4, 5, 6, 7, 9, 10),
    "github check": (9, 10),
    "summary": (6, 9, 10),
}

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
