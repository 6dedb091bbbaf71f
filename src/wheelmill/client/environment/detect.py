"""Detection of the target; every fact can be given instead, so that a laptop can choose for a cluster."""

from __future__ import annotations

import os
import platform as this_platform
import re
import shutil
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct
from packaging.version import InvalidVersion, Version

from wheelmill.client.environment.interpreter import ask, is_virtual
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import Architecture, CudaVersion, Gpu, Platform, PythonVersion, TorchVersion
from wheelmill.system import process
from wheelmill.system.files import read_bounded
from wheelmill.system.hardware import driver_version, find_gpus
from wheelmill.system.process import find_program, program_folders
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.platforms import Libc

_PROBE: Final = Path(__file__).with_name("probe.py")
_REQUESTS: Final = (".python-version", ".python-versions")
_DECLARATIONS: Final = ("pyproject.toml", *_REQUESTS)
"""Files that declare the Python of a folder and of those below it."""
ENVIRONMENTS: Final = (".venv", "venv", "env")
"""Folders of environments beside a project."""
_REQUEST: Final = re.compile(
    r"(?:(?:cpython|cp|pypy|pp|graalpy|gp)[-@]?)?(?P<release>[0-9]{1,4}(?:\.[0-9]{1,3})?)(?:\.[0-9]{1,3})?"
    r"(?:(?:a|b|rc)[0-9]{1,2})?(?:t|\+[a-z]+)?(?:-[a-z0-9_]+(?:\.[0-9]+)*)*"
)
"""Versions as uv and pyenv write them: ``3.12.4``, ``pypy@3.10``, ``cpython-3.13.0+freethreaded-linux-x86_64-gnu``."""
_MUSL_VERSION: Final = re.compile(r"^Version ([0-9]{1,9})\.([0-9]{1,9})", re.MULTILINE)
"""Line that musl's loader prints after ``musl libc (x86_64)``: ``Version 1.2.5``."""


class _TorchFacts(Struct, rename={"version": "__version__"}):
    """Constants of ``torch/version.py``, which may have any type, and the C++ ABI."""

    version: object = None
    cuda: object = None
    cxx11_abi: bool | None = None


class _InterpreterFacts(Struct):
    """Output of `probe`."""

    implementation: str
    executable: str
    """Absolute path; PATH may have wrappers, such as pyenv's scripts."""
    python: str
    free_threaded: bool
    platform: str
    glibc: str | None
    torch: _TorchFacts | None
    driver_cuda: int | None
    """13000 is CUDA 13.0."""
    base: str = ""
    """Interpreter that a virtual environment was made with, whose loader may be started; empty if unknown."""


def find_interpreter(folder: Path, environment: Path | None) -> Path | None:
    """Find the interpreter of a folder and its environment, if it has one; None if there is none.

    It comes from ``UV_PYTHON``, the environment, ``.python-version`` or ``requires-python``, else from PATH.
    """
    named = os.environ.get("UV_PYTHON")
    if not named and environment and (python := python_in(environment)):
        if python.exists() and environment != active_environment() and not is_virtual(environment):
            raise UsageError(
                "python-of-project",
                f"{python} may come with the project: no pyvenv.cfg names another Python that tells about it",
                hint=f"if you trust it, activate the environment, or give --python-path {environment}",
            )
        return python
    from wheelmill.installers.uv import find_uv  # not where an environment has one

    uv, declarations = find_uv(), (path / name for path in (folder, *folder.parents) for name in _DECLARATIONS)
    if not named and not any(map(Path.exists, declarations)):
        names = ((name, place) for place in program_folders() for name in ("python3", "python"))
        programs = (Path(program) for name, place in names if (program := shutil.which(name, path=place)))
        python = next((each for each in programs if not is_ours(each)), None)
        if python or uv is None:
            return python
    return _declared_python(folder, uv)


def active_environment() -> Path | None:
    """Return the environment that is active in the shell, unless wheelmill is installed there."""
    active = (os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return next((Path(name) for name in active if name and not is_ours(python_of(Path(name)))), None)


def _declared_python(folder: Path, uv: Path | None) -> Path | None:
    """Find uv's Python for a project, or without uv the first one on PATH of the named version; None if none fits."""
    named = os.environ.get("UV_PYTHON")
    request = named or declared_request(folder)
    if uv:
        active = ("VIRTUAL_ENV", "CONDA_PREFIX")  # not the project's
        elsewhere = (each for each in program_folders() if not is_ours(Path(each, "python")))
        variables = {name: value for name, value in os.environ.items() if name not in active}
        variables["PATH"] = os.pathsep.join(map(str, elsewhere))
        argv: list[str | Path] = [uv, "python", "find", "--directory", folder, "--no-python-downloads"]
        argv += [named] if named else ["--system"]  # it would start the Python of a .venv
        for cache in ((), ("--no-cache",)):  # a read-only cache must not hide a Python
            with suppress(ProcessError, IndexError):
                return Path(process.run([*argv, *cache], env=variables, timeout=60).splitlines()[-1])
        return None
    version = _REQUEST.fullmatch(request)
    python = (named and shutil.which(named)) or (version and find_program(f"python{version['release']}"))
    return Path(python) if python else None


def declared_request(folder: Path) -> str:
    """Read the nearest ``.python-version``, 3 if there is none; a path, which uv would start, is refused."""
    folders = (folder, *folder.parents)
    for settings in (each / name for each in folders for name in ("uv.toml", "pyproject.toml")):
        if settings.exists():
            with suppress(PermissionError):  # of another user in a shared folder
                read_bounded(settings)  # uv waits for a pipe
    places = (each / name for each in folders for name in _REQUESTS)
    if (path := next(filter(Path.exists, places), None)) is None:
        return "3"
    lines = (line.strip() for line in read_bounded(path).decode(errors="replace").splitlines())
    request = next((line for line in lines if line and not line.startswith("#")), "3")
    if not _REQUEST.fullmatch(request):
        raise UsageError("request-invalid", f"{path}: expected a version such as 3.12 or 3.13t, not {request[:80]!r}")
    return request


def python_in(environment: Path) -> Path | None:
    """Find the interpreter of a virtual or conda environment; broken links count, so that they are reported."""
    pythons = (environment / name for name in ("bin/python", "Scripts/python.exe", "python.exe"))
    return next(filter(os.path.lexists, pythons), None)


def python_of(environment: Path) -> Path:
    """Return the interpreter of an environment, or its path if the environment does not exist yet."""
    return python_in(environment) or environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_ours(python: Path) -> bool:
    """True if an interpreter belongs to the environment of wheelmill."""
    return os.path.realpath(python.parent) == os.path.realpath(Path(sys.executable).parent)


def environment_of(interpreter: Path) -> TargetEnvironment:
    """Run an interpreter to get its facts, and those of its torch."""
    facts = _probe(interpreter)
    if facts.implementation != "cpython":
        raise UsageError("not-cpython", f"{interpreter} is {facts.implementation}; CUDA wheels are made for CPython")
    executable = Path(facts.executable)
    platform = platform_of(facts.platform)
    major, minor = map(int, facts.python.split(".")[:2])
    driver_cuda = facts.driver_cuda
    torch = facts.torch or _TorchFacts()
    release = str(torch.version or "") or None
    origin = f"torch/version.py of {interpreter}"
    try:
        torch_version = TorchVersion.of_release(Version(release)) if release else None
        cuda = CudaVersion.parse(str(torch.cuda)) if torch.cuda else None
    except ValueError as error:
        raise UsageError("torch-damaged", f"{origin}: {error}", hint="reinstall torch") from None
    return TargetEnvironment(
        python=PythonVersion(major, minor, facts.free_threaded),
        python_release=facts.python,
        interpreter=executable,
        platform=platform,
        libc=libc_of(facts.glibc, Path(facts.base or executable), platform),
        torch=torch_version,
        torch_release=release,
        cuda=cuda,
        cpu_only=bool(release) and cuda is None,
        cxx11_abi=torch.cxx11_abi,
        driver_cuda=CudaVersion(driver_cuda // 1000, driver_cuda % 1000 // 10) if driver_cuda else None,
        origins={
            **dict.fromkeys(("python", "platform", "libc"), str(interpreter)),
            **(dict.fromkeys(("torch", "cuda", "cxx11_abi"), origin) if release else {}),
        },
    )


def _probe(interpreter: Path) -> _InterpreterFacts:
    try:
        return msgspec.convert(ask(interpreter, _PROBE.read_text(encoding="utf-8")), _InterpreterFacts)
    except UsageError as error:  # a broken link, or no program
        if error.code != "program-not-started":
            raise
        raise UsageError(
            "python-unusable", str(error), hint="make one with 'uv venv --clear', or name one with --python-path"
        ) from None
    except (ProcessError, ValueError, IndexError) as error:
        tail = f":\n{error.tail}" if isinstance(error, ProcessError) else ""
        raise UsageError(
            "python-unusable", f"{interpreter} cannot be examined{tail}", hint="Python 3.8 or newer is needed"
        ) from None


def platform_of(text: str) -> Platform:
    """Parse the platform of an interpreter: its ``sysconfig`` name, in the form of wheel tags."""
    try:
        return Platform.parse(text)
    except ValueError:
        raise UsageError(
            "platform-unsupported", f"wheels are chosen for Linux, Windows and macOS, and this Python is for {text}"
        ) from None


def libc_of(glibc: str | None, interpreter: Path, platform: Platform) -> Libc | None:
    """Find the C library of an interpreter: its glibc if it reports one, else by its loader."""
    if glibc:
        return Libc.parse(glibc)
    return musl_of(interpreter) if platform.is_linux else None


def musl_of(interpreter: Path) -> Libc | None:
    """Find the musl that an interpreter is linked to; None if it is linked to another C library, or to none."""
    # Python has no call for it, but musl's loader prints it: https://peps.python.org/pep-0656/
    loader = _loader_of(interpreter)
    if loader is None or "musl" not in loader:
        return None
    try:
        printed = process.run([loader], env={}, timeout=10)
    except ProcessError as error:  # without a program to load, it fails
        printed = error.tail
    except UsageError:
        return None
    version = _MUSL_VERSION.search(printed)
    return Libc("musl", int(version[1]), int(version[2])) if version else None


def _loader_of(program: Path) -> str | None:
    """Find the dynamic linker of a program (``PT_INTERP`` of ELF)."""
    from elftools.common.exceptions import ELFError  # most machines have glibc
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    try:
        with program.open("rb") as file:
            segments = ELFFile(file).iter_segments("PT_INTERP")
            return next((each.get_interp_name() for each in segments if isinstance(each, InterpSegment)), None)
    except (OSError, ELFError):
        return None


@dataclass(frozen=True, kw_only=True)
class NamedTorch:
    """A torch, and its CUDA if its name gives one."""

    torch: TorchVersion
    cuda: CudaVersion | None = None
    cpu_only: bool = False
    """True for a build without CUDA."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2.8``, or torch's own output: ``2.8.0+cu128``, ``2.8.0+cpu``, ``2.9.0.dev20250801+cu129``."""
        release, _, local = text.strip().lower().partition("+")
        if not local:
            return cls(torch=TorchVersion.parse(release))
        try:
            torch = TorchVersion.of_release(Version(release))
        except InvalidVersion:
            raise ValueError(f"expected a torch version such as '2.11' or '2.8.0+cu128', not {text!r}") from None
        build = BuiltFor.parse(local)
        cuda = CudaVersion.parse(str(build.cuda)) if build.cuda else None  # a label may have any numbers
        return cls(torch=torch, cuda=cuda, cpu_only=build.other_accelerator is not None)


PUBLISHED_LIBC: Final = Libc("glibc", 2, 28)
"""The glibc that a described Linux is assumed to have: torch's own wheels need it since torch 2.7."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """The facts about the target that are given by hand; None and empty ones are detected."""

    python: PythonVersion | None = None
    platform: Platform | None = None
    libc: Libc | None = None
    torch: NamedTorch | None = None
    cuda: CudaVersion | int | None = None
    """A release, or a major one of which any minor release will do."""
    cxx11_abi: bool | None = None
    driver: str | None = None
    gpus: tuple[Architecture, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True if an interpreter could add nothing."""
        return bool(self.python and self.platform and self.torch and self.names_cuda)

    @property
    def names_cuda(self) -> bool:
        """True if a CUDA is given, or a build of torch for one or for none."""
        return bool(self.cuda or (self.torch and (self.torch.cuda or self.torch.cpu_only)))


def detect_environment(python: Path | None, overrides: Overrides) -> TargetEnvironment:
    """Detect the target. On another platform than this machine's, driver and GPUs cannot be detected."""
    if python is not None:
        environment = environment_of(python)
    elif overrides.python:
        environment = _describe_this_machine(overrides.python)
    else:
        raise UsageError(
            "no-python",
            "no Python to choose wheels for",
            hint="make one with 'uv venv', or give --python-path or --python 3.12",
        )
    elsewhere = overrides.platform is not None and overrides.platform != environment.platform
    if not elsewhere:
        environment = _with_backend(_with_driver(environment, overrides))
    return _apply_overrides(environment, overrides, elsewhere=elsewhere)


def _describe_this_machine(python: PythonVersion) -> TargetEnvironment:
    name, number = this_platform.libc_ver()
    platform = platform_of(sysconfig.get_platform().replace("-", "_").replace(".", "_"))
    return TargetEnvironment(
        python=python,
        python_release=None,
        interpreter=None,
        platform=platform,
        libc=libc_of(number if name == "glibc" else None, Path(sys.executable), platform),
        torch=None,
        cuda=None,
        origins={"libc": "this machine"},
    )


def _with_driver(environment: TargetEnvironment, overrides: Overrides) -> TargetEnvironment:
    version, origin = (overrides.driver, "--driver") if overrides.driver else driver_version()
    if version is None:
        return environment
    environment = replace(environment, driver=version, origins={**environment.origins, "driver": origin})
    if overrides.gpus:
        return environment
    return replace(environment, gpus=find_gpus(), origins={**environment.origins, "gpus": "nvidia-smi"})


def _with_backend(environment: TargetEnvironment) -> TargetEnvironment:
    """Apply the torch backend that is set for uv, if no torch is installed."""
    # https://docs.astral.sh/uv/reference/environment/#uv_torch_backend
    backend = os.environ.get("UV_TORCH_BACKEND", "auto")
    if environment.torch or backend == "auto":
        return environment
    origins = {**environment.origins, "cuda": "UV_TORCH_BACKEND"}
    if not backend.startswith("cu"):
        return replace(environment, cpu_only=True, origins=origins)
    try:
        return replace(environment, cuda=CudaVersion.parse(backend), origins=origins)
    except ValueError as error:
        raise UsageError("torch-backend-invalid", f"UV_TORCH_BACKEND: {error}") from None


def _apply_overrides(environment: TargetEnvironment, overrides: Overrides, *, elsewhere: bool) -> TargetEnvironment:
    if elsewhere:
        linux = overrides.platform and overrides.platform.is_linux
        environment = replace(
            environment, driver=None, driver_cuda=None, gpus=(), libc=PUBLISHED_LIBC if linux else None
        )
    environment = _with_given_torch(environment, overrides.torch, overrides.cuda)
    given = {
        name: value
        for name in ("python", "platform", "libc", "cxx11_abi", "driver")
        if (value := getattr(overrides, name)) is not None
    }
    if overrides.gpus:
        given["gpus"] = tuple(Gpu(capability=architecture) for architecture in overrides.gpus)
    origins = {**environment.origins, **{name: f"--{name.replace('_', '-').removesuffix('s')}" for name in given}}
    if given.get("python", environment.python) != environment.python:
        environment = replace(environment, python_release=None, interpreter=None)  # these belong to another Python
    driver_cuda = None if overrides.driver else environment.driver_cuda
    return replace(environment, **given, driver_cuda=driver_cuda, origins=origins)


def _with_given_torch(
    environment: TargetEnvironment, torch: NamedTorch | None, cuda: CudaVersion | int | None
) -> TargetEnvironment:
    """Apply a given torch and CUDA; the installed build counts only if it has the requested CUDA."""
    if torch is None and (cuda is None or (environment.cuda and cuda == environment.cuda.major)):
        return replace(environment, cuda_major=environment.cuda.major if cuda and environment.cuda else None)
    origins = {**environment.origins, **({"torch": "--torch"} if torch else {}), **({"cuda": "--cuda"} if cuda else {})}
    target = replace(environment, cpu_only=False, cxx11_abi=None, torch_release=None)
    if torch:
        if environment.torch not in (None, torch.torch):  # its CUDA need not be one of this torch
            target = replace(target, cuda=None, preferred_cuda=environment.cuda)
        target = replace(target, torch=torch.torch)
        if torch.cpu_only or torch.cuda:
            if cuda not in (None, torch.cuda, torch.cuda and torch.cuda.major):
                built = f"for CUDA {torch.cuda}" if torch.cuda else "without CUDA"
                raise UsageError(
                    "cuda-conflict", f"--torch names a build {built}, and --cuda says {cuda}", hint="leave out --cuda"
                )
            origins["cuda"] = "--torch"
            return replace(target, cuda=torch.cuda, cpu_only=torch.cpu_only, origins=origins)
    if isinstance(cuda, int):
        return replace(target, cuda=None, cuda_major=cuda, origins=origins)
    return replace(target, cuda=cuda or target.cuda, origins=origins)
