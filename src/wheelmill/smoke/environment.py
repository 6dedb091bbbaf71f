"""Clean rooms, wherever they are: what the visit needs of one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion
from wheelmill.smoke.evidence import Contents
from wheelmill.system.progress import Progress

Answer = TypeVar("Answer")

_SHOWN: Final = 1000
"""How many characters of an answer that is none its error shows."""


@dataclass(frozen=True, kw_only=True)
class CandidateIndex:
    """The throw-away index that a wheel is installed from, and what may be needed beside it."""

    folder: Path
    """Holds all of it, and what a room keeps for the time of the trial."""
    path: str
    """Where the simple index is in the folder: ``site/simple/``."""
    url: str
    """Where this machine serves the folder, with a slash at its end."""
    requires: tuple[str, ...]
    """What its wheels say they need, those that are in the index left out."""


class Room(Protocol):
    """A place with one Python and nothing else, made for one wheel and thrown away after it."""

    @property
    def place(self) -> str:
        """Where it is: ``this machine``, or the base image of a container."""
        ...

    def run(self, code: str, *arguments: str) -> str:
        """Run Python code, which sees what was installed and none of this machine's secrets.

        Returns:
            What it printed.

        Raises:
            ProcessError: the code failed.
        """
        ...

    def install_torch(self, requirement: str) -> None:
        """Install torch from where a user would have it.

        Raises:
            ProcessError: it cannot be had.
        """
        ...

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels of the throw-away index with pip, as a user would, and what they depend on from anywhere.

        Raises:
            ProcessError: pip could not.
        """
        ...


class Rooms(Protocol):
    """Makes clean rooms."""

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, progress: Progress, /
    ) -> Sequence[AbstractContextManager[Room]]:
        """Say which rooms a wheel must pass, one after the other.

        Args:
            contents: the wheel.
            python: the interpreter in them; None takes the version of the running one.
            index: what the wheel is installed from.
            progress: told of what takes long.

        Raises:
            ProcessError: what a room needs cannot be had; entering one may raise this as well.
            PackageIndexError: the same.
            UsageError: this machine lacks what every such room needs.
        """
        ...


def evaluate(room: Room, answer: type[Answer], code: str, *arguments: str) -> Answer:
    """Run Python code of ours in a room and read the JSON that it prints last.

    Args:
        room: where. A wheel that was installed in it may change what is printed.
        answer: the type that the JSON must be of.
        code: prints JSON.
        arguments: its ``sys.argv[1:]``.

    Raises:
        ProcessError: the code failed, or printed something else.
    """
    printed = room.run(code, *arguments)
    try:
        return TypeAdapter(answer).validate_json(printed.rstrip().rpartition("\n")[2], strict=True)
    except ValidationError:
        message = "something in the room printed what was not asked for"
        raise ProcessError(message, returncode=0, tail=f"{message}:\n{printed[-_SHOWN:]}") from None
