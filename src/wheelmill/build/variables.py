"""The environment variables of a build: fixed, without secrets, and the package's own on top."""

from __future__ import annotations

from typing import Final

from wheelmill.build.parallelism import Parallelism
from wheelmill.config.model import ArchVariable
from wheelmill.names import Architecture, CudaVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH

_SEED: Final = "--frandom-seed=wheelmill"
"""Without it, symbol names of -lineinfo builds hold the number of nvcc's process."""

_SEED_SINCE: Final = CudaVersion(13, 0)
"""nvcc 12.4 refuses the option."""


def variables_of(target: BuildTarget, parallelism: Parallelism) -> dict[str, str]:
    """What a build is told wherever it runs.

    Args:
        target: the build target: one cell of the plan.
        parallelism: how many compilers may run at once.
    """
    package = target.package
    seed = f"{_SEED} " if target.cell.cuda >= _SEED_SINCE else ""
    return {
        "TORCH_CUDA_ARCH_LIST": ";".join(str(architecture) for architecture in target.architectures),
        "MAX_JOBS": str(parallelism.jobs),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(parallelism.jobs),
        "NVCC_THREADS": str(parallelism.threads),
        "NVCC_APPEND_FLAGS": f"{seed}--threads={parallelism.threads}",
        "LDFLAGS": "-Wl,-s",  # else names of nvcc's temporary files stay in the symbol table
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        **({"WHEELMILL_CXX_STANDARD": str(target.cxx_standard)} if target.cxx_standard else {}),
        **_own_arch_variable(package.arch_variable, target.architectures),
        **dict(package.env),
    }


def _own_arch_variable(variable: ArchVariable | None, architectures: tuple[Architecture, ...]) -> dict[str, str]:
    """What a package that does not read ``TORCH_CUDA_ARCH_LIST`` wants to know instead."""
    if variable is None:
        return {}
    names = (a.capability if variable.form == "dotted" else a.capability.replace(".", "") for a in architectures)
    return {variable.name: ";".join(names)}
