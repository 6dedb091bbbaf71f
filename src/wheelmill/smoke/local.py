"""Clean environments on this machine: new virtual environments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.model import Compatibility
from wheelmill.installers import environments
from wheelmill.installers.environments import VirtualEnvironment
from wheelmill.names import PythonVersion, TorchVersion
from wheelmill.smoke.environment import TIME_LIMIT, CandidateIndex, SmokeEnvironment, torches_for
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.verdict import THIS_MACHINE
from wheelmill.system import process
from wheelmill.system.folders import temporary_folder
from wheelmill.system.hardware import device_files
from wheelmill.system.progress import Progress
from wheelmill.system.sandbox import Sandbox, certificates


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
