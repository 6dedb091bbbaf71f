"""Environments that are folders on this interpreter's path."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError
from wheelmill.names import PythonVersion, TorchVersion
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.verdict import THIS_MACHINE
from wheelmill.system.process import Output
from wheelmill.system.progress import Progress

FORKS: Final = """
import ctypes, gc, glob, importlib.metadata, json, mmap, os, platform, sys, sysconfig
gc.freeze()
while request := sys.stdin.readline():
    output, folder, code, *arguments = json.loads(request)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(opened, 1)
os.dup2(opened, 2)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.path.insert(0, folder)
sys.argv[1:] = arguments
status = 0
try:
    exec(code, {"__name__": "__main__"})
except SystemExit as end:
    status = end.code
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
except BaseException:
    sys.excepthook(*sys.exc_info())
    status = 1
sys.stdout.flush()
os._exit(status or 0)
"""
"""Runs each program in a fork: most take less time than an interpreter does to start, and to end."""


class Interpreter:
    """An interpreter that has imported nothing of a wheel, and runs one program after the other."""

    def __init__(self, output: Path) -> None:
        argv = [sys.executable, "-I", "-S", "-c", FORKS]
        self._output = output
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def run(self, folder: Path, code: str, *arguments: str) -> str:
        """Run a program that finds modules in a folder, as `SmokeEnvironment.run` does."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([str(self._output), str(folder), code, *arguments]), file=self._process.stdin, flush=True)
        returncode = int(self._process.stdout.readline())
        with Output([], None, None) as output:
            output.take(self._output.read_bytes(), last=True)
        if returncode:
            message = f"python exited with {returncode}"
            raise ProcessError("program-failed", message, returncode=returncode, tail=output.tail)
        return output.text


@dataclass
class Folder:
    """An environment for wheels that need nothing: they are unpacked into it."""

    place: str
    path: Path
    index: Path
    gpus: int
    interpreter: Interpreter
    torch: TorchVersion | None = None
    left: bool = False

    def run(self, code: str, *arguments: str) -> str:
        if "cuDeviceGetCount" in code:
            return str(self.gpus)
        return self.interpreter.run(self.path, code, *arguments)

    def install_torch(self, _requirement: str) -> None:
        raise ProcessError("program-failed", "uv exited with 1", returncode=1, tail="no torch here")

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
    kind: type[Folder] = Folder
    files: Mapping[str, str] = field(default_factory=dict)
    """What is in each of them already."""
    interpreter: Interpreter | None = None
    made: list[Folder] = field(default_factory=list)

    def of(
        self, contents: Contents, _python: PythonVersion | None, index: CandidateIndex, _progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        if self.error:
            raise self.error
        torch = contents.torch if isinstance(contents.torch, TorchVersion) else None
        return [self.environment(place, index, torch) for place in self.places]

    def check(self, *_: object) -> None:
        """Check nothing."""

    @contextmanager
    def environment(self, place: str, index: CandidateIndex, torch: TorchVersion | None) -> Iterator[SmokeEnvironment]:
        path = self.folder / f"environment {len(self.made)}"
        path.mkdir()
        for name, text in self.files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        assert self.interpreter
        environment = self.kind(
            place=place, path=path, index=index.folder, gpus=self.gpus, interpreter=self.interpreter, torch=torch
        )
        self.made.append(environment)
        yield environment
        environment.left = True
