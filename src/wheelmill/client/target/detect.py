"""Finding out what wheels are chosen for. Every fact can be given by hand, so a laptop can choose for a cluster."""

from __future__ import annotations

import json
import os
import platform as this_platform
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wheelmill import process
from wheelmill.client.records import Gpu, TargetEnvironment
from wheelmill.client.target import driver, probe
from wheelmill.client.target_tags import Libc
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import Architecture, CudaVersion, Platform, PythonVersion, TorchVersion

PUBLISHED_LIBC: Final = Libc("glibc", 2, 28)
"""What a described Linux is taken to have: torch's own wheels need it since torch 2.7."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What is known of the target without looking; None and empty leave it to be found out."""

    python: PythonVersion | None = None
    platform: Platform | None = None
    libc: Libc | None = None
    torch: TorchVersion | None = None
    cuda: CudaVersion | None = None
    cxx11_abi: bool | None = None
    driver: str | None = None
    gpus: tuple[Architecture, ...] = ()

    @property
    def described(self) -> bool:
        """Whether nothing of an interpreter remains to be asked."""
        return None not in (self.python, self.platform, self.torch, self.cuda)


def detect_environment(python: Path | None, overrides: Overrides) -> TargetEnvironment:
    """Find out what wheels are chosen for.

    Args:
        python: the target interpreter; None takes the one of the project's ``.venv``, the active environment's, or the
            first on PATH, and never the one that runs wheelmill.
        overrides: facts that are given by hand. Another platform than this machine's has no driver and no GPU that
            could be found out.

    Raises:
        UsageError: there is no interpreter and too few facts, or the interpreter does not run.
    """
    interpreter = None if overrides.described and python is None else python or find_interpreter(Path.cwd())
    if interpreter is not None:
        found = _environment_of(interpreter)
    elif overrides.python:
        found = _described(overrides.python)
    else:
        raise UsageError(
            "no Python to choose wheels for", hint="make one with 'uv venv', or give --python-path or --python 3.12"
        )
    elsewhere = overrides.platform is not None and overrides.platform != found.platform
    if not elsewhere:
        found = _with_backend(_with_driver(found, overrides))
    return _overridden(found, overrides, elsewhere=elsewhere)


def find_interpreter(folder: Path) -> Path | None:
    """The interpreter of the nearest project's ``.venv``, the active environment's, or the first on PATH."""
    projects = [path for path in (folder, *folder.parents) if (path / "pyproject.toml").exists()]
    environments = [(path / ".venv") for path in (folder, *projects[:1])]
    active = (os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    for environment in (*environments, *(Path(name) for name in active if name)):
        for python in (environment / "bin" / "python", environment / "Scripts" / "python.exe"):
            if python.exists() and not _is_ours(python):
                return python
    for directory in os.get_exec_path():
        for name in ("python3", "python"):
            if (path := shutil.which(name, path=directory)) and not _is_ours(Path(path)):
                return Path(path)
    return None


def _is_ours(python: Path) -> bool:
    """Whether an interpreter is that of the environment which wheelmill is installed in."""
    return python.parent.resolve() == Path(sys.executable).parent.resolve()


def _environment_of(interpreter: Path) -> TargetEnvironment:
    try:
        # Its own folder is the working directory: a torch.py in this one must not be found.
        facts = json.loads(
            process.run(
                [interpreter.absolute(), "-I", probe.__file__],
                env=process.environment_for_foreign_code(),
                timeout=60,
            ).splitlines()[-1]
        )
    except (ProcessError, ValueError, IndexError) as error:
        tail = f":\n{error.tail}" if isinstance(error, ProcessError) else ""
        raise UsageError(f"{interpreter} does not say what it is{tail}", hint="is it a Python 3.8 or newer?") from None
    if facts["implementation"] != "cpython":
        raise UsageError(f"{interpreter} is {facts['implementation']}; CUDA wheels are made for CPython")
    executable = Path(facts["executable"])  # behind what PATH may have, such as pyenv's scripts
    platform = Platform(facts["platform"])
    torch = facts["torch"] or {}
    release = str(torch.get("__version__") or "") or None
    cuda = torch.get("cuda")
    origin = f"torch/version.py of {interpreter}"
    return TargetEnvironment(
        python=_python_of(facts),
        python_release=facts["python"],
        interpreter=executable,
        platform=platform,
        libc=_libc_of(facts["glibc"], executable, platform),
        torch=_torch_of(release),
        torch_release=release,
        cuda=CudaVersion.parse(cuda) if cuda else None,
        cpu_only=bool(release) and not cuda,
        cxx11_abi=torch.get("cxx11_abi"),
        driver_cuda=_driver_cuda(facts["driver_cuda"]),
        origins={
            **dict.fromkeys(("python", "platform", "libc"), str(interpreter)),
            **(dict.fromkeys(("torch", "cuda", "cxx11_abi"), origin) if release else {}),
        },
    )


def _python_of(facts: Mapping[str, Any]) -> PythonVersion:
    major, minor, *_ = facts["python"].split(".")
    return PythonVersion(int(major), int(minor), facts["free_threaded"])


def _torch_of(release: str | None) -> TorchVersion | None:
    """``2.11`` of ``2.11.0+cu130`` or ``2.12.0a0+git1a2b3c4``."""
    if release is None:
        return None
    major, minor, *_ = release.split(".")
    return TorchVersion(int(major), int(minor))


def _libc_of(glibc: str | None, interpreter: Path, platform: Platform) -> Libc | None:
    if glibc:
        return Libc.parse(glibc)
    if not platform.startswith("linux_"):
        return None
    from wheelmill.client.target.musl import musl_of  # noqa: PLC0415 - most machines have glibc

    return musl_of(interpreter)


def _driver_cuda(number: int | None) -> CudaVersion | None:
    """13000 is 13.0, 12080 is 12.8."""
    return CudaVersion(number // 1000, number % 1000 // 10) if number else None


def _described(python: PythonVersion) -> TargetEnvironment:
    """This machine with a Python that need not be there."""
    name, number = this_platform.libc_ver()
    platform = Platform(sysconfig.get_platform().replace("-", "_"))
    return TargetEnvironment(
        python=python,
        python_release=None,
        interpreter=None,
        platform=platform,
        libc=_libc_of(number if name == "glibc" else None, Path(sys.executable), platform),
        torch=None,
        cuda=None,
        origins={"libc": "this machine"},
    )


def _with_driver(found: TargetEnvironment, overrides: Overrides) -> TargetEnvironment:
    """Add the driver and the GPUs of this machine where they were not given."""
    version, origin = (overrides.driver, "--driver") if overrides.driver else driver.driver_version()
    if version is None:
        return found
    found = replace(found, driver=version, origins={**found.origins, "driver": origin})
    if overrides.gpus:
        return found
    return replace(found, gpus=driver.gpus(), origins={**found.origins, "gpus": "nvidia-smi"})


def _with_backend(found: TargetEnvironment) -> TargetEnvironment:
    """Heed the choice that was made for uv, where no torch is installed that would decide.

    https://docs.astral.sh/uv/reference/environment/#uv_torch_backend
    """
    backend = os.environ.get("UV_TORCH_BACKEND", "auto")
    if found.torch or backend == "auto":
        return found
    origins = {**found.origins, "cuda": "UV_TORCH_BACKEND"}
    if not backend.startswith("cu"):
        return replace(found, cpu_only=True, origins=origins)
    try:
        return replace(found, cuda=CudaVersion.parse(backend), origins=origins)
    except ValueError as error:
        raise UsageError(f"UV_TORCH_BACKEND: {error}") from None


def _overridden(found: TargetEnvironment, overrides: Overrides, *, elsewhere: bool) -> TargetEnvironment:
    if elsewhere:
        linux = str(overrides.platform).startswith("linux_")
        found = replace(found, driver=None, driver_cuda=None, gpus=(), libc=PUBLISHED_LIBC if linux else None)
    given = {
        name: value
        for name in ("python", "platform", "libc", "torch", "cuda", "cxx11_abi", "driver")
        if (value := getattr(overrides, name)) is not None
    }
    if overrides.gpus:
        given["gpus"] = tuple(Gpu(capability=architecture) for architecture in overrides.gpus)
    origins = {**found.origins, **{name: f"--{name.replace('_', '-')}" for name in given}}
    if "torch" in given or "cuda" in given:  # then it is not the installed torch that is meant
        found = replace(found, cpu_only=False, cxx11_abi=None, torch_release=None)
    if given.get("python", found.python) != found.python:
        found = replace(found, python_release=None, interpreter=None)  # what was found is another Python's
    return replace(found, **given, origins=origins)
