"""Environments that are folders on this interpreter's path."""

import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion, TorchVersion
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.verdict import THIS_MACHINE
from wheelmill.system import process
from wheelmill.system.progress import Progress


@dataclass
class Folder:
    """An environment for wheels that need nothing: they are unpacked into it."""

    place: str
    path: Path
    index: Path
    gpus: int
    torch: TorchVersion | None = None
    left: bool = False

    def run(self, code: str, *arguments: str) -> str:
        if "cuDeviceGetCount" in code:
            return str(self.gpus)
        on_path = f"import sys; sys.path.insert(0, {str(self.path)!r})\n"
        return process.run([sys.executable, "-I", "-S", "-c", on_path + code, *arguments])

    def install_torch(self, _requirement: str) -> None:
        raise ProcessError("uv exited with 1", returncode=1, tail="no torch here")

    def install(self, _requirements: Sequence[str]) -> None:
        for wheel in self.index.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.path)


@dataclass
class Folders:
    """Makes such environments, one for each place."""

    folder: Path
    places: Sequence[str] = (THIS_MACHINE,)
    error: Exception | None = None
    gpus: int = 0
    torch: TorchVersion | None = None
    made: list[Folder] = field(default_factory=list)

    def of(
        self, contents: Contents, _python: PythonVersion | None, index: CandidateIndex, _progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        if self.error:
            raise self.error
        self.torch = contents.torch if isinstance(contents.torch, TorchVersion) else None
        return [self.environment(place, index) for place in self.places]

    @contextmanager
    def environment(self, place: str, index: CandidateIndex) -> Iterator[SmokeEnvironment]:
        path = self.folder / f"environment {len(self.made)}"
        path.mkdir()
        environment = Folder(place=place, path=path, index=index.folder, gpus=self.gpus, torch=self.torch)
        self.made.append(environment)
        yield environment
        environment.left = True
