"""Clean environments, in which wheels are tested: what every kind of them can do."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from wheelmill.config.model import Compatibility
from wheelmill.errors import ProcessError
from wheelmill.names import Platform, PythonVersion, StableTorch, TorchVersion
from wheelmill.smoke.evidence import Contents
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile

Answer = TypeVar("Answer")

THIS_PLATFORM: Final = Platform("linux", platform.machine())

TIME_LIMIT: Final = 600.0
"""Seconds that one step in an environment may take."""
MEMORY_LIMIT: Final = 16 << 30
"""Bytes that a container may use."""

_SHOWN: Final = 1000
"""Characters of an unreadable answer that its error shows."""


@dataclass(frozen=True, kw_only=True)
class CandidateIndex:
    """The throw-away index that a wheel is installed from."""

    folder: Path
    """Holds the index, and what environments keep while the wheel is tested."""
    path: str
    """Where the simple index is in the folder: ``site/simple/``."""
    url: str
    """Where this machine serves the folder, with a slash at its end."""
    requires: tuple[str, ...]
    """The requirements of its wheels, without those that the index itself has."""


ServeIndex = Callable[[Path, Collection[WheelFile]], AbstractContextManager[CandidateIndex]]
"""Makes an index of wheels in an empty folder and serves it while the context is open."""


def torches_for(
    contents: Contents, python: PythonVersion | None, compatibility: Compatibility
) -> Mapping[TorchVersion | None, str | None]:
    """The torches that a wheel is tested with, and the index of each; of a range, the oldest and the newest.

    Args:
        contents: what was read from the opened wheel.
        python: the interpreter that torch must be published for.
        compatibility: which torches are published, and where.

    Returns:
        Places as `torch_options` takes them; None for None where the wheel names no torch.
    """
    torch, label = contents.torch, contents.name.label
    if torch is None or label is None:
        return {None: None}
    ends: tuple[TorchVersion, ...] = (torch,) if isinstance(torch, TorchVersion) else (torch.oldest,)
    if isinstance(torch, StableTorch) and python:
        served = compatibility.torches_in(torch, label.cuda, THIS_PLATFORM, python)
        ends = (*served[:1], *served[-1:]) or ends
    return {end: compatibility.torch_place(end, label.cuda, THIS_PLATFORM) for end in ends}


class SmokeEnvironment(Protocol):
    """A place with one Python and nothing else, made for one wheel and thrown away afterwards."""

    @property
    def torch(self) -> TorchVersion | None:
        """The torch that the wheel is tested with; None leaves that to what the wheel requires."""
        ...

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
            ProcessError: it cannot be installed.
        """
        ...

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels of the throw-away index with pip, as a user would; their dependencies come from anywhere.

        Raises:
            ProcessError: pip could not.
        """
        ...


class SmokeEnvironments(Protocol):
    """Makes clean environments."""

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """Say which environments a wheel must pass, one after the other.

        Args:
            contents: the opened wheel, with its evidence.
            python: the interpreter in them; None takes the version of the running one.
            index: the index that the wheel is installed from.
            progress: shows the steps that take long.

        Raises:
            ProcessError: what an environment needs cannot be downloaded; entering an environment may raise this, too.
            NetworkError: the same.
            UsageError: this machine lacks what every such environment needs.
        """
        ...


def evaluate(environment: SmokeEnvironment, answer: type[Answer], code: str, *arguments: str) -> Answer:
    """Run Python code of ours in an environment and read the JSON that it prints last.

    Args:
        environment: where the code runs. A wheel that was installed in it may change what is printed.
        answer: the type that the JSON must be of.
        code: the Python code, which prints one JSON value.
        arguments: the values of ``sys.argv[1:]`` for the code.

    Raises:
        ProcessError: the code failed, or printed something else.
    """
    printed = environment.run(code, *arguments)
    try:
        return TypeAdapter(answer).validate_json(printed.rstrip().rpartition("\n")[2], strict=True)
    except ValidationError:
        message = "something in the environment printed what was not asked for"
        raise ProcessError(
            "environment-failed", message, returncode=0, tail=f"{message}:\n{printed[-_SHOWN:]}"
        ) from None
