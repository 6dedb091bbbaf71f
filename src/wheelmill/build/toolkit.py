"""A CUDA home to compile with: an installed toolkit of the right release, or one made of NVIDIA's wheels."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.package_folder import PackageFolder
from wheelmill.names import CudaVersion

FIRST_WITH_COMPILER: Final = 13
"""NVIDIA's wheels hold nvcc and cicc from this CUDA major on; those for CUDA 12 hold ptxas only."""

_COMPONENTS: Final = "nvcc,cccl,crt,nvvm,cudart"


def provide_toolkit(cuda: CudaVersion, release: str, packages: PackageFolder, *, log: Path) -> Path:
    """Find a CUDA home of exactly this toolkit release, or install one among the build's packages.

    Raises:
        BuildError: there is none and NVIDIA's wheels cannot make one.
    """
    for home in _installed(cuda):
        if _release_of(home) == release:
            return home
    if cuda.major < FIRST_WITH_COMPILER:
        raise BuildError(
            f"there is no CUDA toolkit {release} on this machine, and NVIDIA publishes no compiler for it as wheels",
            hint=f"install the toolkit and set CUDA_HOME, or put it at /usr/local/cuda-{cuda}",
        )
    try:
        packages.install([f"cuda-toolkit[{_COMPONENTS}]=={release}"], log=log)
    except ProcessError as error:
        raise BuildError(f"CUDA toolkit {release} could not be installed:\n{error.tail}") from None
    home = packages.directory / "nvidia" / f"cu{cuda.major}"
    _complete(home)
    return home


def _installed(cuda: CudaVersion) -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if path := os.environ.get(name):
            yield Path(path)
    yield Path(f"/usr/local/cuda-{cuda}")
    yield Path("/usr/local/cuda")


def _release_of(home: Path) -> str | None:
    """The release that a toolkit says it is; None when it is not a whole one."""
    try:
        release = json.loads((home / "version.json").read_bytes())["cuda"]["version"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    parts = ("bin/nvcc", "include/cuda_runtime.h", "lib64/libcudart_static.a")
    return str(release) if all((home / part).exists() for part in parts) else None


def _complete(home: Path) -> None:
    """Add what compilers look for and the wheels leave out: ``lib64`` and ``libX.so`` beside ``libX.so.13``."""
    library_folder = home / "lib"
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    for library in sorted(library_folder.glob("lib*.so.*")):
        plain = library_folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)
