"""Detecting the target: Python, platform, torch, CUDA, GPUs and driver.

Every fact can be given instead, so that a laptop can choose for a cluster.
"""

from __future__ import annotations

import os
import platform as this_platform
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from packaging.version import InvalidVersion, Version

from wheelmill.client.records import TargetEnvironment
from wheelmill.client.target.interpreter import environment_of, find_interpreter, libc_of, platform_of
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion, Gpu, Platform, PythonVersion, TorchVersion
from wheelmill.system.hardware import driver_version, find_gpus
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.platforms import Libc


@dataclass(frozen=True, kw_only=True)
class NamedTorch:
    """A torch, and its CUDA if its name gives one."""

    torch: TorchVersion
    cuda: CudaVersion | None = None
    cpu_only: bool = False
    """True for a build without CUDA."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2.8``, or torch's own output: ``2.8.0+cu128``, ``2.8.0+cpu``, ``2.9.0.dev20250801+cu129``.

        Raises:
            ValueError: it is no version of torch.
        """
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
        knows_cuda = self.cuda or (self.torch and (self.torch.cuda or self.torch.cpu_only))
        return bool(self.python and self.platform and self.torch and knows_cuda)


def detect_environment(python: Path | None, overrides: Overrides) -> TargetEnvironment:
    """Detect the target. On another platform than this machine's, driver and GPUs cannot be detected.

    If ``python`` is None and the overrides leave facts open, `find_interpreter` looks for one.

    Raises:
        UsageError: there is no interpreter and too few facts, or the interpreter does not run.
    """
    interpreter = None if overrides.is_complete and python is None else python or find_interpreter(Path.cwd())
    if interpreter is not None:
        found = environment_of(interpreter)
    elif overrides.python:
        found = _describe_this_machine(overrides.python)
    else:
        raise UsageError(
            "no-python",
            "no Python to choose wheels for",
            hint="make one with 'uv venv', or give --python-path or --python 3.12",
        )
    elsewhere = overrides.platform is not None and overrides.platform != found.platform
    if not elsewhere:
        found = _with_backend(_with_driver(found, overrides))
    return _apply_overrides(found, overrides, elsewhere=elsewhere)


def _describe_this_machine(python: PythonVersion) -> TargetEnvironment:
    """Describe this machine, with a Python that need not be installed."""
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


def _with_driver(found: TargetEnvironment, overrides: Overrides) -> TargetEnvironment:
    """Add the driver and the GPUs of this machine where they were not given."""
    version, origin = (overrides.driver, "--driver") if overrides.driver else driver_version()
    if version is None:
        return found
    found = replace(found, driver=version, origins={**found.origins, "driver": origin})
    if overrides.gpus:
        return found
    return replace(found, gpus=find_gpus(), origins={**found.origins, "gpus": "nvidia-smi"})


def _with_backend(found: TargetEnvironment) -> TargetEnvironment:
    """Apply the torch backend that is set for uv, if no torch is installed.

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
        raise UsageError("torch-backend-invalid", f"UV_TORCH_BACKEND: {error}") from None


def _apply_overrides(found: TargetEnvironment, overrides: Overrides, *, elsewhere: bool) -> TargetEnvironment:
    if elsewhere:
        linux = overrides.platform and overrides.platform.is_linux
        found = replace(found, driver=None, driver_cuda=None, gpus=(), libc=PUBLISHED_LIBC if linux else None)
    found = _with_given_torch(found, overrides.torch, overrides.cuda)
    given = {
        name: value
        for name in ("python", "platform", "libc", "cxx11_abi", "driver")
        if (value := getattr(overrides, name)) is not None
    }
    if overrides.gpus:
        given["gpus"] = tuple(Gpu(capability=architecture) for architecture in overrides.gpus)
    origins = {**found.origins, **{name: f"--{name.replace('_', '-').removesuffix('s')}" for name in given}}
    if given.get("python", found.python) != found.python:
        found = replace(found, python_release=None, interpreter=None)  # these belong to another Python
    return replace(found, **given, origins=origins)


def _with_given_torch(
    found: TargetEnvironment, torch: NamedTorch | None, cuda: CudaVersion | int | None
) -> TargetEnvironment:
    """Apply a given torch and CUDA; the installed build counts only if it has the requested CUDA."""
    if torch is None and (cuda is None or (found.cuda and cuda == found.cuda.major)):
        return found
    origins = {**found.origins, **({"torch": "--torch"} if torch else {}), **({"cuda": "--cuda"} if cuda else {})}
    target = replace(found, cpu_only=False, cxx11_abi=None, torch_release=None)
    if torch:
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
