"""Clean environments in containers: no compiler, no network and nothing of this machine but what the wheel needs.

The image with CUDA's libraries comes first; one without them then shows a library that the wheel should have brought.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.config.model import Compatibility, ImageReference, Images
from wheelmill.installers.environments import mirror
from wheelmill.names import PythonVersion, TorchVersion
from wheelmill.smoke.environment import (
    MEMORY_LIMIT,
    THIS_PLATFORM,
    TIME_LIMIT,
    CandidateIndex,
    SmokeEnvironment,
    torches_for,
)
from wheelmill.smoke.evidence import Contents
from wheelmill.system import own_installation
from wheelmill.system.containers import Container, base_image, claim_run, own_image, start_container
from wheelmill.system.hardware import device_files
from wheelmill.system.progress import Progress

_FOLDER: Final = "/smoke"
_VENV_PYTHON: Final = f"{_FOLDER}/venv/bin/python"
_INDEX: Final = "/index"

_OPTIONS: Final = (
    *("--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--read-only", "--tmpfs", "/tmp:exec", "--volume", _FOLDER),  # noqa: S108 - the container's own
    *("--pids-limit", "2048", "--memory", f"{MEMORY_LIMIT}", "--memory-swap", f"{MEMORY_LIMIT}"),
)

_ENVIRONMENT: Final = {"HOME": _FOLDER, "TMPDIR": _FOLDER}
"""On disk; pip would unpack gigabytes into the usual folder for temporary files, which is in memory here."""

_NO_SETTINGS: Final = {"PIP_CONFIG_FILE": "/dev/null", "PIP_CONSTRAINT": "/dev/null"}
"""An image may have constraints of pip, which would choose another torch than the wheel names."""

_WAIT: Final = 'import socket, time\nwhile socket.socket().connect_ex(("127.0.0.1", 8000)): time.sleep(0.1)'
_LONGEST_WAIT: Final = 30
"""Seconds."""


@dataclass(frozen=True, kw_only=True)
class DockerEnvironment:
    """A container."""

    place: str
    """Its base image."""
    torch: TorchVersion | None
    container: Container
    python: str
    """The interpreter of its image, with pip."""
    index_url: str
    """Of the throw-away index."""
    beside: str
    """Holds the wheels that the candidate needs beside itself."""

    def run(self, code: str, *arguments: str) -> str:
        """Run Python code; see `SmokeEnvironment`."""
        words = [_VENV_PYTHON, "-I", "-c", code, *arguments]
        return self.container.run(words, env=_ENVIRONMENT, timeout=TIME_LIMIT)

    def install_torch(self, requirement: str) -> None:
        """Install the torch that was downloaded for the wheel; see `SmokeEnvironment`."""
        self._pip_install("--no-index", "--no-compile", requirement)

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels of the throw-away index, and what was downloaded for them; see `SmokeEnvironment`."""
        self._pip_install("--index-url", self.index_url, *requirements)

    def _pip_install(self, *arguments: str) -> None:
        quiet = ("--no-input", "--disable-pip-version-check", "--root-user-action", "ignore", "--no-cache-dir")
        wheels = ("--only-binary", ":all:", "--find-links", self.beside)
        self.container.run(
            [self.python, "-I", "-m", "pip", "--python", _VENV_PYTHON, "install", *quiet, *wheels, *arguments],
            env=_ENVIRONMENT | _NO_SETTINGS,
            timeout=TIME_LIMIT,
        )


@dataclass(frozen=True, kw_only=True)
class DockerEnvironments:
    """Two containers for each Python and torch: one without CUDA's libraries, and before it one with its CUDA."""

    images: Images
    compatibility: Compatibility

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """Download what the wheel needs, and name the environments; see `SmokeEnvironments`."""
        label = contents.name.label
        python = python or PythonVersion(*sys.version_info[:2])
        bases = [*([self.images.of_cuda(label.cuda).runtime] if label else []), self.images.plain.image]
        with claim_run():  # says what is wrong with Docker, if anything is, before it is asked for images
            images = [self._image(base, progress) for base in bases]
        if index.requires:
            progress.step(f"gathering what {contents.file.filename} needs on Python {python}")
        torches = torches_for(contents, python, self.compatibility)
        for torch, place in torches.items():
            mirror(
                (*index.requires, *([f"torch{torch.pin}"] if torch else [])),
                index.folder / _beside(python, torch),
                python=python,
                platform=THIS_PLATFORM,
                torch_backend=place,
            )
        _let_everyone_read(index.folder)
        return [
            _variables_inside(base, image, python, torch, index=index, progress=progress)
            for torch in torches
            for base, image in zip(bases, images, strict=True)
        ]

    def _image(self, base: ImageReference, progress: Progress) -> str:
        def here(reference: ImageReference) -> str:
            return base_image(reference.tagged, reference.digest, progress=progress)

        arguments = {"BASE_IMAGE": here(base), "PYTHONS_IMAGE": here(self.images.manylinux.images[THIS_PLATFORM])}
        return own_image("runtime", arguments, own_installation.DOCKER, progress=progress)


@contextmanager
def _variables_inside(
    base: ImageReference,
    image: str,
    python: PythonVersion,
    torch: TorchVersion | None,
    *,
    index: CandidateIndex,
    progress: Progress,
) -> Iterator[SmokeEnvironment]:
    interpreter = f"/opt/python/{python.interpreter}-{python.abi}/bin/python"
    mount = f"type=bind,source={index.folder},target={_INDEX},readonly"
    gpus = ["--gpus", "all"] if device_files() else []
    progress.step(f"in a container of {base.tagged}" + (f" beside torch {torch}" if torch else ""))
    with claim_run() as run, start_container(image, run, [*_OPTIONS, *gpus, "--mount", mount]) as container:
        container.run([interpreter, "-m", "venv", "--without-pip", f"{_FOLDER}/venv"], env=_ENVIRONMENT)
        container.start([interpreter, "-m", "http.server", "8000", "--bind", "127.0.0.1", "--directory", _INDEX])
        container.run([interpreter, "-c", _WAIT], timeout=_LONGEST_WAIT)
        yield DockerEnvironment(
            place=str(base),
            torch=torch,
            container=container,
            python=interpreter,
            index_url=f"http://127.0.0.1:8000/{index.path}",
            beside=f"{_INDEX}/{_beside(python, torch)}",
        )


def _beside(python: PythonVersion, torch: TorchVersion | None) -> str:
    return f"beside/{python.abi}" + (f"/torch{torch}" if torch else "")


def _let_everyone_read(folder: Path) -> None:
    """Let everybody read the folder: root in the container has lost the right to read other users' files."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
