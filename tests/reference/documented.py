"""Holds commands that tests run to docs/reference."""

from collections.abc import Sequence

from tests.commands import Done
from tests.reference.exits import check_exit
from tests.reference.schemas import check_output


def check_documented(words: Sequence[object], done: Done) -> None:
    """Compare an exit code, and what was printed as JSON, with what the pages say of the command."""
    check_exit([*map(str, words)], done.returncode)
    check_output(done.stdout)
