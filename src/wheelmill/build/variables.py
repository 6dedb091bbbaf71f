"""Environment variables of a build: fixed ones without secrets, the package's own, and the number of compilers.

How many compilers may run at once follows from cores and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from wheelmill.build.parallelism import Parallelism
from wheelmill.build.toolkit import library_variables
from wheelmill.config.model import ARCHITECTURES_IN, ArchForm, Package
from wheelmill.names import Architecture, CudaVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH

_SEED: Final = "--frandom-seed=wheelmill"
"""Without it, symbol names of -lineinfo builds hold the number of nvcc's process."""

_SEED_SINCE: Final = CudaVersion(13, 0)
"""nvcc 12.4 refuses the option."""


def variables_of(
    target: BuildTarget, parallelism: Parallelism, *, packages: PurePath, toolkit: PurePath
) -> dict[str, str]:
    """The variables of a build, wherever it runs.

    Args:
        target: the build target: one cell of the plan.
        parallelism: how many compilers may run at once.
        packages: where the build sees its packages.
        toolkit: where the build sees its CUDA home.
    """
    return {
        **_fixed_variables(target),
        "MAX_JOBS": str(parallelism.jobs),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(parallelism.jobs),
        "NVCC_THREADS": str(parallelism.threads),
        "NVCC_APPEND_FLAGS": " ".join((*_seed(target), f"--threads={parallelism.threads}", *target.nvcc_flags)),
        **library_variables(target.package.toolkit, packages, toolkit),
        **_own_variables(target),
    }


def decisive_variables(target: BuildTarget) -> dict[str, str]:
    """The variables that decide the result; they are the same on every machine.

    Args:
        target: the build target: one cell of the plan.
    """
    flags = " ".join((*_seed(target), *target.nvcc_flags))
    appended = {"NVCC_APPEND_FLAGS": flags} if flags else {}
    return {**_fixed_variables(target), **appended, **_own_variables(target)}


def _seed(target: BuildTarget) -> tuple[str, ...]:
    return (_SEED,) if target.cell.cuda >= _SEED_SINCE else ()


def _fixed_variables(target: BuildTarget) -> dict[str, str]:
    package = target.package
    return {
        "TORCH_CUDA_ARCH_LIST": ";".join(_known_to_torch(each, package) for each in target.architectures),
        "CUDAARCHS": _architectures_in_forms(target)["cmake"],
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        **({"WHEELMILL_CXX_STANDARD": str(target.cxx_standard)} if target.cxx_standard else {}),
        **({"WHEELMILL_GENCODE": _gencode(target.architectures)} if package.gencode else {}),
    }


def _architectures_in_forms(target: BuildTarget) -> dict[ArchForm, str]:
    """The GPU architectures of a target in every form."""
    return {form: ";".join(map(write, target.architectures)) for form, write in _FORMS.items()}


def _known_to_torch(architecture: Architecture, package: Package) -> str:
    """Write an architecture as torch's extension builder takes it: without a family, where its flags are replaced."""
    is_family = architecture.feature == "f" and package.gencode
    return str(replace(architecture, feature="") if is_family else architecture)


def _gencode(architectures: tuple[Architecture, ...]) -> str:
    """The flags of nvcc that compile for some architectures, as torch's extension builder writes them."""
    sass = [f"-gencode=arch={a.compute},code={a.sm}" for a in architectures]
    ptx = [f"-gencode=arch={a.compute},code={a.compute}" for a in architectures if a.ptx]
    return " ".join(sass + ptx)


def _digits(architecture: Architecture) -> str:
    return architecture.capability.replace(".", "")


_FORMS: Final[Mapping[ArchForm, Callable[[Architecture], str]]] = {
    "dotted": lambda each: each.capability,
    "digits": _digits,
    # Without a suffix it is machine code and PTX (https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html).
    "cmake": lambda each: f"{_digits(each)}{'' if each.ptx else '-real'}",
}


def _own_variables(target: BuildTarget) -> dict[str, str]:
    """The variables that packages.yml sets for a package."""
    variables, written = dict(target.package.env), _architectures_in_forms(target)
    if own := target.package.arch_variable:
        variables = {own.name: written[own.form], **variables}
    for form, text in written.items():
        variables = {name: value.replace(ARCHITECTURES_IN[form], text) for name, value in variables.items()}
    return variables
