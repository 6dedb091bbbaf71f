"""A CUDA home to compile with: an installed toolkit of the right release, or one made of NVIDIA's wheels."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from wheelmill.build.components import extras_of, link_plain_names, missing_in
from wheelmill.config.model import Component
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import CudaVersion
from wheelmill.wheel.libraries import DRIVER, compile_stub, driver_functions_in

FIRST_WITH_COMPILER: Final = 13
"""NVIDIA's wheels hold nvcc and cicc from this CUDA major on; those for CUDA 12 hold ptxas only."""

_COMPILER: Final = ("nvcc", "cccl", "crt", "nvvm", "cudart")


def provide_toolkit(
    cuda: CudaVersion, release: str, packages: PackageFolder, *, components: Sequence[Component] = (), log: Path
) -> Path:
    """Find a CUDA home of exactly this toolkit release, or install one among the build's packages.

    Args:
        cuda: the CUDA release.
        release: the release of its toolkit.
        packages: the build's packages. Those that are installed later may replace parts of the toolkit by theirs;
            see `complete_toolkit`.
        components: what must be in it beside the compiler.
        log: the file that gets what the installer prints.

    Raises:
        BuildError: there is none, and NVIDIA's wheels cannot provide one.
    """
    lacking = ""
    for home in _installed_toolkits(cuda, release):
        if not (missing := missing_in(home, components)):
            return home
        lacking = f" with {', '.join(missing)}, which 'toolkit' of the package names ({home} has none)"
    if cuda.major < FIRST_WITH_COMPILER:
        raise BuildError(
            "no-toolkit",
            f"there is no CUDA toolkit {release}{lacking} on this machine, "
            "and NVIDIA publishes no compiler for it as wheels",
            hint=f"install the toolkit and set CUDA_HOME, or put it at /usr/local/cuda-{cuda}",
        )
    parts = ",".join([*_COMPILER, *extras_of(components)])
    try:
        packages.install([f"cuda-toolkit[{parts}]=={release}"], log=log)
    except ProcessError as error:
        raise BuildError(
            "toolkit-not-installed", f"CUDA toolkit {release} could not be installed:\n{error.tail}"
        ) from None
    return packages.directory / "nvidia" / f"cu{cuda.major}"


def has_toolkit(cuda: CudaVersion, release: str) -> bool:
    """Whether this machine has a toolkit, or NVIDIA's wheels provide one."""
    return cuda.major >= FIRST_WITH_COMPILER or any(_installed_toolkits(cuda, release))


def _installed_toolkits(cuda: CudaVersion, release: str) -> Iterator[Path]:
    return (home for home in _homes(cuda) if _release_of(home) == release)


def _homes(cuda: CudaVersion) -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if path := os.environ.get(name):
            yield Path(path)
    yield Path(f"/usr/local/cuda-{cuda}")
    yield Path("/usr/local/cuda")


def _release_of(home: Path) -> str | None:
    """The release of a toolkit by its own files; None if it is incomplete."""
    try:
        release = json.loads((home / "version.json").read_bytes())["cuda"]["version"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    parts = ("bin/nvcc", "include/cuda_runtime.h", "lib64/libcudart_static.a")
    return str(release) if all((home / part).exists() for part in parts) else None


def complete_toolkit(home: Path) -> None:
    """Add what compilers look for and the wheels leave out: ``lib64``, ``libX.so`` and a stub of ``libcuda.so``."""
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    link_plain_names(home / "lib")
    stub, header = home / "lib" / "stubs" / "libcuda.so", home / "include" / "cuda.h"
    if header.exists() and not stub.exists():
        stub.parent.mkdir(exist_ok=True)
        compile_stub(driver_functions_in(header), stub)
        (stub.parent / DRIVER).symlink_to(stub.name)
