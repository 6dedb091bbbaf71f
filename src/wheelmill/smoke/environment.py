"""Clean environments for tests of wheels: virtual environments on this machine, or containers.

A container has no compiler, no network, and nothing of this machine but what the wheel needs. The first image has
CUDA's libraries; one without them then shows a library that the wheel should have brought.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from platformdirs import user_cache_path
from pydantic import TypeAdapter, ValidationError

from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.files import ImageReference, Images
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers import environments
from wheelmill.installers.disk_budget import check_disks
from wheelmill.installers.environments import VirtualEnvironment, another_system, mirror
from wheelmill.installers.index_settings import index_only_variables
from wheelmill.installers.uv import compile_requirements, torch_options
from wheelmill.names import Platform, PythonVersion, StableTorch, TorchNeed, TorchVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.smoke.evidence import Contents, pythons_to_test
from wheelmill.smoke.verdict import THIS_MACHINE
from wheelmill.system import process
from wheelmill.system.containers import Container, OwnImage, build_image, check_disk_full, claim_run, start_container
from wheelmill.system.folders import check_free_disk, temporary_folder
from wheelmill.system.hardware import device_files
from wheelmill.system.progress import Progress
from wheelmill.system.sandbox import Sandbox, certificates
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import WheelFile

Answer = TypeVar("Answer")

THIS_PLATFORM: Final = Platform("linux", platform.machine())

TIME_LIMIT: Final = 600.0
"""Seconds that one step in an environment may take."""
MEMORY_LIMIT: Final = 16 << 30
"""Bytes that a container may use."""
FREE_DISK: Final = 1 << 30
"""Bytes on this machine: a small build with its toolkit takes half of it. Torch arrives before compilers run."""

_SHOWN_CHARACTERS: Final = 1000
"""Characters of an unreadable answer that its error shows."""


@dataclass(frozen=True, kw_only=True)
class CandidateIndex:
    """Temporary index that a wheel is installed from."""

    folder: Path
    """Holds the index, and what environments keep while the wheel is tested."""
    path: str
    """Path of the simple index in the folder: ``site/simple/``."""
    url: str
    """URL under which this machine serves the folder, with a trailing slash."""
    requires: tuple[str, ...]
    """The requirements of its wheels, without those that the index itself has."""


ServeIndex = Callable[[Path, Collection[WheelFile]], AbstractContextManager[CandidateIndex]]
"""Makes an index of wheels in an empty folder and serves it while the context is open."""


def torches_for(
    torch: TorchNeed | None, label: Label | None, python: PythonVersion | None, compatibility: Compatibility
) -> Mapping[TorchVersion | None, str | None]:
    """Torches that a wheel for `torch` is tested with, each with its index, a place as `torch_options` takes it.

    They are published for `python`; of a range, the oldest and the newest count. If the wheel names no torch, None maps
    to None.
    """
    if torch is None or label is None:
        return {None: None}
    ends: tuple[TorchVersion, ...] = (torch,) if isinstance(torch, TorchVersion) else (torch.oldest,)
    if isinstance(torch, StableTorch) and python:
        served = compatibility.torches_in(torch, label.cuda, THIS_PLATFORM, python)
        ends = (*served[:1], *served[-1:]) or ends
    return {end: compatibility.torch_place(end, label.cuda, THIS_PLATFORM) for end in ends}


def check_requirements(
    target: BuildTarget,
    python: PythonVersion,
    requires: Sequence[str],
    compatibility: Compatibility,
    *options: str | Path,
    from_source: bool = False,
) -> None:
    """Refuse a build if a Python, for which uv has `options`, cannot have its torches with the requirements `requires`.

    Only uv's verdict counts: an index that does not answer now may do so after the build. If `from_source`, a source
    distribution is as good as a wheel.
    """
    cell = target.cell
    for torch, place in torches_for(cell.torch, cell.label, python, compatibility).items():
        wanted = (*requires, *([f"torch{torch.pin}"] if torch else ()))
        try:
            if wanted:
                compile_requirements(wanted, *options, *torch_options(place))
        except ProcessError as error:
            if "unsatisfiable" in error.tail and not (from_source and "building from source is disabled" in error.tail):
                text = f"{cell.id} could not be tested on Python {python}, so it is not built:\n{error.tail}"
                hint = f"exclude that combination in the entry of {cell.project}, or change its requires_dist"
                raise BuildError("smoke-unsatisfiable", text, hint=hint) from None


class SmokeEnvironment(Protocol):
    """Environment with one Python and nothing else, made for one wheel and removed afterwards."""

    @property
    def torch(self) -> TorchVersion | None:
        """Torch that the wheel is tested with; None if the wheel's requirements decide."""

    @property
    def place(self) -> str:
        """Name of the place: ``this machine``, or the base image of a container."""

    def run(self, code: str, *arguments: str) -> str:
        """Run Python code beside the installed packages, without this machine's secrets, and return its output."""

    def install_torch(self, requirement: str) -> None:
        """Install torch from the index that a user would install it from."""

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels of the temporary index with pip, as a user would; dependencies come from anywhere."""


class SmokeEnvironments(Protocol):
    """Provider of clean environments."""

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """List the environments that a wheel in `index` must pass, in order.

        `python` is None if they have the version of the running interpreter. What cannot be downloaded raises
        ProcessError or NetworkError, also while an environment is entered. UsageError means that this machine lacks
        what every environment needs.
        """

    def check(self, target: BuildTarget, requires: Sequence[str], progress: Progress, /) -> None:
        """Check, before hours are spent on a build, that there can be environments for its wheel.

        `requires` are the known requirements of the wheel, without torch and without wheels of the temporary index.
        BuildError means that a Python, a torch, a requirement or disk space is missing; UsageError is as in `of`.
        """


def evaluate(environment: SmokeEnvironment, answer: type[Answer], code: str, *arguments: str) -> Answer:
    """Run our Python code with `arguments` in an environment, and read the JSON of type `answer` in its last line."""
    printed = environment.run(code, *arguments)
    try:
        return TypeAdapter(answer).validate_json(printed.rstrip().rpartition("\n")[2], strict=True)
    except ValidationError:
        message = "something in the environment printed what was not asked for"
        tail = f"{message}:\n{printed[-_SHOWN_CHARACTERS:]}"
        raise ProcessError("environment-failed", message, returncode=0, tail=tail) from None


@dataclass(frozen=True, kw_only=True)
class LocalEnvironment:
    """Virtual environment on this machine."""

    venv: VirtualEnvironment
    torch: TorchVersion | None
    torch_place: str | None
    """See `torch_options`."""
    index_url: str
    interpreter: Path
    """Folder of its Python."""
    place = THIS_MACHINE

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
        """Install wheels of the temporary index; see `SmokeEnvironment`."""
        folder = self.venv.directory
        sandbox = Sandbox(writable={folder: folder}, readable=[self.interpreter, *certificates()], network=True)
        self.venv.pip_install(requirements, extra_index=self.index_url, sandbox=sandbox)


@dataclass(frozen=True, kw_only=True)
class LocalEnvironments:
    """Virtual environments: one for each Python and torch of a test."""

    compatibility: Compatibility

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, _progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """List the environments; see `SmokeEnvironments`."""
        torches = torches_for(contents.torch, contents.name.label, python, self.compatibility)
        return [_environment(python, torch, place, index) for torch, place in torches.items()]

    def check(self, target: BuildTarget, requires: Sequence[str], _progress: Progress, /) -> None:
        """Check for disk space, interpreters, torches and requirements; see `SmokeEnvironments`."""
        hint = "free space, or name another disk in XDG_CACHE_HOME"
        check_free_disk(user_cache_path("wheelmill"), {"the build and its test": FREE_DISK}, hint=hint)
        if {"PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"} & index_only_variables().keys():
            requires = ()  # pip finds more there than uv
        for python in pythons_to_test(target.pythons, target.cell.torch):
            with temporary_folder() as folder:
                try:
                    venv = environments.create(folder, python=python)
                except ProcessError as error:
                    text = f"{target.cell.id} could not be tested: no environment with Python {python}:\n{error.tail}"
                    raise BuildError("no-smoke-python", text, hint=f"install Python {python}") from None
                # For pip, which installs them, an index of torch does not hide what others have.
                options = ("--python", venv.python, "--index-strategy", "unsafe-best-match")
                check_requirements(target, python, requires, self.compatibility, *options, from_source=True)


@contextmanager
def _environment(
    python: PythonVersion | None, torch: TorchVersion | None, torch_place: str | None, index: CandidateIndex
) -> Iterator[SmokeEnvironment]:
    with temporary_folder() as folder:
        # Not the folder itself, which is closed to the user that foreign code of root runs as.
        venv = environments.create(folder / "environment", python=python, with_pip=True)
        prefix = venv.evaluate("import json, sys; print(json.dumps(sys.base_prefix))")
        yield LocalEnvironment(
            venv=venv, torch=torch, torch_place=torch_place, index_url=index.url + index.path, interpreter=Path(prefix)
        )


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
_LONGEST_WAIT_S: Final = 30


@dataclass(frozen=True, kw_only=True)
class DockerEnvironment:
    """Container as a clean environment."""

    place: str
    """Its base image."""
    torch: TorchVersion | None
    container: Container
    python: str
    """The interpreter of its image, with pip."""
    index_url: str
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
        """Install wheels of the temporary index, and what was downloaded for them; see `SmokeEnvironment`."""
        self._pip_install("--index-url", self.index_url, *requirements)

    def _pip_install(self, *arguments: str) -> None:
        quiet = ("--no-input", "--disable-pip-version-check", "--root-user-action", "ignore", "--no-cache-dir")
        wheels = ("--only-binary", ":all:", "--find-links", self.beside)
        words = [self.python, "-I", "-m", "pip", "--python", _VENV_PYTHON, "install", *quiet, *wheels, *arguments]
        try:
            self.container.run(words, env=_ENVIRONMENT | _NO_SETTINGS, timeout=TIME_LIMIT)
        except ProcessError as error:
            check_disk_full(error.tail)
            raise


@dataclass(frozen=True, kw_only=True)
class DockerEnvironments:
    """Two containers for each Python and torch: first one with its CUDA, then one without CUDA's libraries."""

    images: Images
    compatibility: Compatibility

    def of(
        self, contents: Contents, python: PythonVersion | None, index: CandidateIndex, progress: Progress, /
    ) -> Sequence[AbstractContextManager[SmokeEnvironment]]:
        """Download what the wheel needs, and list the environments; see `SmokeEnvironments`."""
        label = contents.name.label
        python = python or PythonVersion(*sys.version_info[:2])
        with claim_run():
            images = {base: image.make(progress) for base, image in self._images(label).items()}
        if index.requires:
            progress.step(f"gathering what {contents.file.filename} needs on Python {python}")
        torches = torches_for(contents.torch, label, python, self.compatibility)
        for torch, place in torches.items():
            wanted = (*index.requires, *([f"torch{torch.pin}"] if torch else ()))
            folder = index.folder / _beside(python, torch)
            mirror(wanted, folder, python=python, platform=THIS_PLATFORM, torch_backend=place)
        for path in (index.folder, *index.folder.rglob("*")):  # root in the container cannot read other users' files
            path.chmod(0o755 if path.is_dir() else 0o644)
        return [
            _container_environment(base, image, python, torch, index=index, progress=progress)
            for torch in torches
            for base, image in images.items()
        ]

    def check(self, target: BuildTarget, requires: Sequence[str], progress: Progress, /) -> None:
        """Check for images, torches and requirements as they will be downloaded; see `SmokeEnvironments`."""
        cell, manylinux, cuda = target.cell, self.images.manylinux.images[THIS_PLATFORM], target.cell.cuda
        host_gcc = str(self.compatibility.cuda[cuda].host_gcc)
        build = build_image(str(manylinux), str(self.images.of_cuda(cuda).devel), host_gcc)
        images = [*self._images(cell.label).values()]
        torches = len(torches_for(cell.torch, cell.label, cell.python, self.compatibility))
        with claim_run():  # reports a fault of Docker before images are needed
            check_disks((build, *images), progress, python=cell.python, torch=target.torch_release, torches=torches)
            for image in images:
                image.make(progress)
        for python in pythons_to_test(target.pythons, target.cell.torch):
            check_requirements(target, python, requires, self.compatibility, *another_system(python, THIS_PLATFORM))

    def _images(self, label: Label | None) -> Mapping[ImageReference, OwnImage]:
        """Images of containers for a label, by their base images, in the order of their tests."""
        bases = [*([self.images.of_cuda(label.cuda).runtime] if label else []), self.images.plain.image]
        pythons = str(self.images.manylinux.images[THIS_PLATFORM])
        return {
            base: OwnImage(name="runtime", bases={"BASE_IMAGE": str(base), "PYTHONS_IMAGE": pythons}) for base in bases
        }


@contextmanager
def _container_environment(
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
        container.run([interpreter, "-c", _WAIT], timeout=_LONGEST_WAIT_S)
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
