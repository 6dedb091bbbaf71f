"""What a build gets in addition to CUDA's compiler: parts of the toolkit, and libraries that have their own wheels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final, get_args

from wheelmill.config.model import Component, OwnWheel
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.plan.targets import BuildTarget

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
"""The names of components in the metapackage ``cuda-toolkit``, where they differ from ours."""

_OWN_WHEELS: Final = get_args(OwnWheel)
"""In wheels such as ``nvidia-cudnn-cu13``, each in a folder such as ``nvidia/cudnn``."""


def extras_of(components: Sequence[Component]) -> list[str]:
    """What to ask the metapackage ``cuda-toolkit`` for."""
    return [_EXTRAS.get(name, name) for name in components if name in HEADERS]


def missing_in(home: Path, components: Sequence[Component]) -> list[Component]:
    """The components that an installed toolkit lacks."""
    return [name for name in components if name in HEADERS and not (home / "include" / HEADERS[name]).exists()]


def install_own_wheels(target: BuildTarget, packages: PackageFolder, *, log: Path) -> None:
    """Install components that are in no toolkit: the versions that torch pins, else the newest.

    Raises:
        BuildError: they cannot be installed.
    """
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
    """The variables by which linkers, compilers and CMake find components outside their usual folders.

    Args:
        components: the ``toolkit`` of the package.
        packages: where the build sees its packages.
        toolkit: where the build sees its CUDA home.
    """
    own = _folders_of(components, packages)
    stubs = toolkit / "lib64" / "stubs"  # libcuda.so comes with drivers only, so what links it needs the stub
    needed = [toolkit / "lib64", *(folder / "lib" for folder in own), stubs]
    headers = {
        "CPATH": os.pathsep.join(str(folder / "include") for folder in own),
        "CMAKE_PREFIX_PATH": os.pathsep.join(map(str, own)),
    }
    return {
        "LIBRARY_PATH": os.pathsep.join(map(str, needed[1:])),
        # Names of nvcc's temporary files else stay in the symbol table. A program of the build is linked to libraries
        # of the build, and the linker looks at what those need.
        "LDFLAGS": " ".join(["-Wl,-s", *(f"-Wl,-rpath-link={folder}" for folder in needed)]),
        **(headers if own else {}),
    }


def link_plain_names(folder: Path) -> None:
    """Add ``libX.so`` beside ``libX.so.13``: linkers look for it, and wheels leave it out."""
    for library in sorted(folder.glob("lib*.so.*")):
        plain = folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)


def _folders_of(components: Sequence[Component], packages: PurePath) -> list[PurePath]:
    return [packages / "nvidia" / name for name in components if name in _OWN_WHEELS]
