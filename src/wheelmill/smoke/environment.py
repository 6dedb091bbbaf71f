"""Clean environments, in which wheels are tested, and those on this machine: new virtual environments."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from wheelmill.config.model import Compatibility
from wheelmill.errors import ProcessError
from wheelmill.installers import environments
from wheelmill.installers.environments import VirtualEnvironment
from wheelmill.names import Platform, PythonVersion, StableTorch, TorchVersion
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.verdict import THIS_MACHINE
from wheelmill.system import process
from wheelmill.system.folders import temporary_folder
from wheelmill.system.hardware import device_files
from wheelmill.system.progress import Progress
from wheelmill.system.sandbox import Sandbox, certificates
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


@dataclass(frozen=True, kw_only=True)
class LocalEnvironment:
    """A virtual environment."""

    venv: VirtualEnvironment
    torch: TorchVersion | None
    torch_place: str | None
    """See `torch_options`."""
    index_url: str
    """Of the throw-away index."""
    interpreter: Path
    """The folder of the Python that it was made of."""

    @property
    def place(self) -> str:
        """Where it is."""
        return THIS_MACHINE

    def run(self, code: str, *arguments: str) -> str:
        """Run Python code; see `SmokeEnvironment`."""
        sandbox = Sandbox(writable={}, readable=[self.venv.directory, self.interpreter], devices=device_files())
        words: list[str | Path] = [self.venv.python, "-I", "-c", code, *arguments]
        environment = process.environment_for_foreign_code()
        return sandbox.run(words, cwd=self.venv.directory, env=environment, timeout=TIME_LIMIT)

    def install_torch(self, requirement: str) -> None:
        """Install torch from the index that pip or uv is configured with, or from its own; see `SmokeEnvironment`."""
        self.venv.install([requirement], torch_backend=self.torch_place)

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels of the throw-away index; see `SmokeEnvironment`."""
        folder = self.venv.directory
        sandbox = Sandbox(writable={folder: folder}, readable=[self.interpreter, *certificates()], network=True)
        self.venv.pip_install(requirements, extra_index=self.index_url, sandbox=sandbox)


@dataclass(frozen=True, kw_only=True)
class LocalEnvironments:
    """One virtual environment for each Python, and each torch of those that are tried."""

    compatibility: Compatibility

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, _progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """Name the environments; see `SmokeEnvironments`."""
        torches = torches_for(contents, python, self.compatibility)
        return [_environment(python, torch, place, index) for torch, place in torches.items()]


@contextmanager
def _environment(
    python: PythonVersion | None, torch: TorchVersion | None, torch_place: str | None, index: CandidateIndex
) -> Iterator[SmokeEnvironment]:
    with temporary_folder() as folder:
        venv = environments.create(folder, python=python, with_pip=True)
        prefix = venv.evaluate("import json, sys; print(json.dumps(sys.base_prefix))")
        yield LocalEnvironment(
            venv=venv,
            torch=torch,
            torch_place=torch_place,
            index_url=index.url + index.path,
            interpreter=Path(prefix),
        )
