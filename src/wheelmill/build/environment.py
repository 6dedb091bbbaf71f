"""Everything a build runs in: an interpreter with the requirements, a CUDA home, and fixed variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from wheelmill import process, virtual_environment
from wheelmill.build.parallelism import parallelism_for
from wheelmill.build.toolkit import provide_toolkit
from wheelmill.config.records import EVERY_BUILD_NEEDS, ArchVariable, LockedRequirement
from wheelmill.errors import BuildError, ProcessError
from wheelmill.names import Architecture
from wheelmill.plan.records import BuildTarget, Cell
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
    if target.torch_release:
        _install_torch(target.torch_release, target.cell, venv, log=log)
    venv = _with_requirements(target, venv, workspace, log=log)
    return BuildEnvironment(venv=venv, variables=_variables(target, venv, toolkit, workspace))


def _install_torch(release: str, cell: Cell, venv: VirtualEnvironment, *, log: Path) -> None:
    try:
        venv.install([f"torch=={release}"], log=log)
    except ProcessError as error:
        raise BuildError(f"{cell.id}: torch {release} cannot be installed:\n{error.tail}") from None
    cuda = venv.evaluate("import json, torch; print(json.dumps(torch.version.cuda))")
    if cuda != str(cell.cuda):
        raise BuildError(
            f"the package index gives torch {release} for CUDA {cuda}, not {cell.cuda}",
            hint="set pip or uv to an index that has torch for that CUDA",
        )


def _with_requirements(
    target: BuildTarget, venv: VirtualEnvironment, workspace: Path, *, log: Path
) -> VirtualEnvironment:
    """Install exactly the locked requirements and seal the environment; a folder may do without a lock."""
    wanted = (*target.package.build_requirements, *EVERY_BUILD_NEEDS)
    relock = f"run 'wheelmill config lock {target.cell.project}'"
    if target.requirements is None and not isinstance(target.source, Path):
        raise BuildError(f"packages.lock has no build requirements of {target.cell.project}", hint=relock)
    try:
        if target.requirements is None:
            venv.install(wanted, log=log)
            return venv
        venv.install_locked(_requirements_file(target.requirements, workspace), log=log)
    except ProcessError as error:
        raise BuildError(f"{target.cell.id}: the build requirements cannot be installed:\n{error.tail}") from None
    sealed = replace(venv, sealed=True)
    try:
        sealed.install(wanted, log=log)
    except ProcessError as error:
        raise BuildError(
            f"packages.lock lacks build requirements that packages.yml names for {target.cell.project}:\n{error.tail}",
            hint=relock,
        ) from None
    return sealed


def _requirements_file(requirements: tuple[LockedRequirement, ...], workspace: Path) -> Path:
    """What uv reads: a pinned requirement a line, with the hashes that its wheel may have."""
    path = workspace / "requirements.txt"
    lines = (" ".join([pin.requirement, *(f"--hash=sha256:{sha256}" for sha256 in pin.sha256)]) for pin in requirements)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _variables(target: BuildTarget, venv: VirtualEnvironment, toolkit: Path, workspace: Path) -> dict[str, str]:
    """Fixed, without secrets, and the package's own variables on top."""
    package = target.package
    parallelism = parallelism_for(len(target.architectures), per_compiler=package.memory_per_job)
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
        **_own_arch_variable(package.arch_variable, target.architectures),
        **dict(package.env),
    }


def _own_arch_variable(variable: ArchVariable | None, architectures: tuple[Architecture, ...]) -> dict[str, str]:
    """What a package that does not read ``TORCH_CUDA_ARCH_LIST`` wants to know instead."""
    if variable is None:
        return {}
    names = (a.capability if variable.dotted else a.capability.replace(".", "") for a in architectures)
    return {variable.name: ";".join(names)}
