"""CUDA home of a build: an installed toolkit of the right release, or one made of NVIDIA's wheels.

Builds also get components of the toolkit, and libraries that have their own wheels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Final, get_args

from wheelmill.config.model import Component, OwnWheel
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import CudaVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.wheel.libraries import DRIVER, compile_stub, driver_functions_in

HEADERS: Final[dict[Component, str]] = {
    "cublas": "cublas_v2.h",
    "cufft": "cufft.h",
    "cufile": "cufile.h",
    "curand": "curand_kernel.h",
    "cusolver": "cusolverDn.h",
    "cusparse": "cusparse.h",
    "npp": "npp.h",
    "nvjitlink": "nvJitLink.h",
    "nvjpeg": "nvjpeg.h",
    "nvml": "nvml.h",
    "nvrtc": "nvrtc.h",
    "nvtx": "nvtx3/nvToolsExt.h",
    "profiler-api": "cuda_profiler_api.h",
}
"""A header of every component that is part of the toolkit."""

_EXTRAS: Final[dict[Component, str]] = {"profiler-api": "profiler"}
"""Names of components in the metapackage ``cuda-toolkit``, where they differ from ours."""

_OWN_WHEELS: Final = get_args(OwnWheel)
"""In wheels such as ``nvidia-cudnn-cu13``, each in a folder such as ``nvidia/cudnn``."""


def extras_of(components: Sequence[Component]) -> list[str]:
    """Extras of the metapackage ``cuda-toolkit`` for some components."""
    return [_EXTRAS.get(name, name) for name in components if name in HEADERS]


def missing_in(home: Path, components: Sequence[Component]) -> list[Component]:
    """Components that an installed toolkit lacks."""
    return [name for name in components if name in HEADERS and not (home / "include" / HEADERS[name]).exists()]


def install_own_wheels(target: BuildTarget, packages: PackageFolder, *, log: Path) -> None:
    """Install components that no toolkit has: the versions that torch pins, else the newest."""
    names = [f"nvidia-{name}-cu{target.cell.cuda.major}" for name in target.package.toolkit if name in _OWN_WHEELS]
    try:
        packages.install(names, log=log)
    except ProcessError as error:
        raise BuildError(
            "toolkit-component-absent", f"{target.cell.id}: {', '.join(names)} cannot be installed:\n{error.tail}"
        ) from None
    for folder in _folders_of(target.package.toolkit, packages.directory):
        link_plain_names(Path(folder) / "lib")


def library_variables(components: Sequence[Component], packages: PurePath, toolkit: PurePath) -> dict[str, str]:
    """Variables by which linkers, compilers and CMake find components outside their usual folders.

    `packages` and `toolkit` are paths as the build sees them.
    """
    own = _folders_of(components, packages)
    stubs = toolkit / "lib64" / "stubs"  # libcuda.so comes with drivers only, so linking to it needs the stub
    needed = [toolkit / "lib64", *(folder / "lib" for folder in own), stubs]
    headers = {
        "CPATH": os.pathsep.join(str(folder / "include") for folder in own),
        "CMAKE_PREFIX_PATH": os.pathsep.join(map(str, own)),
    }
    return {
        "LIBRARY_PATH": os.pathsep.join(map(str, needed[1:])),
        # -s: else names of nvcc's temporary files stay in the symbol table. -rpath-link: the linker also searches
        # for the libraries that those of the build need.
        "LDFLAGS": " ".join(["-Wl,-s", *(f"-Wl,-rpath-link={folder}" for folder in needed)]),
        **(headers if own else {}),
    }


def link_plain_names(folder: Path) -> None:
    """Add ``libX.so`` beside ``libX.so.13``: linkers need it, and wheels leave it out."""
    for library in sorted(folder.glob("lib*.so.*")):
        plain = folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)


def _folders_of(components: Sequence[Component], packages: PurePath) -> list[PurePath]:
    return [packages / "nvidia" / name for name in components if name in _OWN_WHEELS]


FIRST_WITH_COMPILER: Final = 13
"""NVIDIA's wheels hold nvcc and cicc from this CUDA major on; those for CUDA 12 hold ptxas only."""

_COMPILER: Final = ("nvcc", "cccl", "crt", "nvvm", "cudart")


def provide_toolkit(
    cuda: CudaVersion, release: str, packages: PackageFolder, *, components: Sequence[Component] = (), log: Path
) -> Path:
    """Find a CUDA home of exactly this release with `components`, or install one among the build's packages.

    Packages that are installed later may replace parts of it; see `complete_toolkit`.
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
    """True if this machine has a toolkit, or NVIDIA's wheels provide one."""
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
    """Release of a toolkit by its own files; None if it is incomplete."""
    try:
        release = json.loads((home / "version.json").read_bytes())["cuda"]["version"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    parts = ("bin/nvcc", "include/cuda_runtime.h", "lib64/libcudart_static.a")
    return str(release) if all((home / part).exists() for part in parts) else None


def complete_toolkit(home: Path) -> None:
    """Add files that compilers need and wheels leave out: ``lib64``, ``libX.so`` and a stub of ``libcuda.so``."""
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    link_plain_names(home / "lib")
    stub, header = home / "lib" / "stubs" / "libcuda.so", home / "include" / "cuda.h"
    if header.exists() and not stub.exists():
        stub.parent.mkdir(exist_ok=True)
        compile_stub(driver_functions_in(header), stub)
        (stub.parent / DRIVER).symlink_to(stub.name)
