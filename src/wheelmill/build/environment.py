"""Everything a build runs in: an interpreter with the requirements, a CUDA home, and fixed variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill import process, virtual_environment
from wheelmill.build.parallelism import parallelism_for
from wheelmill.build.toolkit import provide_toolkit
from wheelmill.errors import BuildError, ProcessError
from wheelmill.plan.records import BuildTarget
from wheelmill.virtual_environment import VirtualEnvironment
from wheelmill.wheel.pack import SOURCE_DATE_EPOCH

_NVCC_FLAGS: Final = "--frandom-seed=wheelmill"
"""Without it, symbol names of -lineinfo builds hold the number of nvcc's process."""


@dataclass(frozen=True, kw_only=True)
class BuildEnvironment:
    """What the build backend of one target runs in."""

    venv: VirtualEnvironment
    variables: Mapping[str, str]
    """The whole environment of its processes."""


def prepare_environment(target: BuildTarget, workspace: Path, *, log: Path) -> BuildEnvironment:
    """Install what a target's build needs.

    Raises:
        BuildError: an interpreter, toolkit, torch or requirement cannot be had.
    """
    try:
        venv = virtual_environment.create(workspace / "venv", python=target.cell.python)
    except ProcessError as error:
        raise BuildError(
            f"{target.cell.id}: no virtual environment with Python {target.cell.python}:\n{error.tail}",
            hint=f"install Python {target.cell.python} with its headers, or put it on PATH",
        ) from None
    toolkit = provide_toolkit(target.cell.cuda, target.toolkit, venv, log=log)
    _install_requirements(target, venv, log=log)
    return BuildEnvironment(venv=venv, variables=_variables(target, venv, toolkit, workspace))


def _install_requirements(target: BuildTarget, venv: VirtualEnvironment, *, log: Path) -> None:
    torch = [f"torch=={target.torch_release}"] if target.torch_release else []
    try:
        venv.install([*torch, *target.package.build_requirements, "setuptools", "wheel"], log=log)
    except ProcessError as error:
        raise BuildError(f"{target.cell.id}: the build requirements cannot be installed:\n{error.tail}") from None
    if target.torch_release is None:
        return
    cuda = venv.evaluate("import json, torch; print(json.dumps(torch.version.cuda))")
    if cuda != str(target.cell.cuda):
        raise BuildError(
            f"the package index gives torch {target.torch_release} for CUDA {cuda}, not {target.cell.cuda}",
            hint="set pip or uv to an index that has torch for that CUDA",
        )


def _variables(target: BuildTarget, venv: VirtualEnvironment, toolkit: Path, workspace: Path) -> dict[str, str]:
    """Fixed, without secrets, and the package's own variables on top."""
    parallelism = parallelism_for(len(target.architectures))
    foreign = process.environment_for_foreign_code()
    path = (venv.directory / "bin", toolkit / "bin", foreign.get("PATH", os.defpath))
    temporary = workspace / "tmp"
    temporary.mkdir()
    return foreign | {
        "PATH": os.pathsep.join(str(part) for part in path),
        "VIRTUAL_ENV": str(venv.directory),
        "CUDA_HOME": str(toolkit),
        "CUDA_PATH": str(toolkit),
        "TORCH_CUDA_ARCH_LIST": ";".join(str(architecture) for architecture in target.architectures),
        "MAX_JOBS": str(parallelism.jobs),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(parallelism.jobs),
        "NVCC_THREADS": str(parallelism.threads),
        "NVCC_APPEND_FLAGS": f"{_NVCC_FLAGS} --threads={parallelism.threads}",
        "LDFLAGS": "-Wl,-s",  # else names of nvcc's temporary files stay in the symbol table
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(temporary),
        **dict(target.package.env),
    }
