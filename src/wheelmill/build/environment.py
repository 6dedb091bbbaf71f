"""Environment of a build: CUDA home, torch and the locked requirements, and fixed variables without secrets.

A CUDA home is an installed toolkit of the right release, or one made of NVIDIA's wheels. The folder of what is
installed has the same path for every Python: compilers see it and its headers, so several Pythons can share caches.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final, get_args

from wheelmill.build import fake_gpu
from wheelmill.config.model.files import LockedSdist
from wheelmill.config.model.package import EVERY_BUILD_NEEDS
from wheelmill.config.model.package_fields import ARCHITECTURES_IN, ArchForm, Component, OwnWheel
from wheelmill.errors import BuildError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import Architecture, CudaVersion
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.system.files import write_bytes
from wheelmill.system.hardware import Parallelism
from wheelmill.system.process import raise_on_failure
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH
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


def missing_in(home: Path, components: Sequence[Component]) -> list[Component]:
    """Components that an installed toolkit lacks."""
    return [name for name in components if name in HEADERS and not (home / "include" / HEADERS[name]).exists()]


def install_own_wheels(target: BuildTarget, packages: PackageFolder, *, log: Path) -> None:
    """Install components that no toolkit has: the versions that torch pins, else the newest."""
    names = [f"nvidia-{name}-cu{target.cell.cuda.major}" for name in target.package.toolkit if name in _OWN_WHEELS]
    message = f"{target.cell.id}: {', '.join(names)} cannot be installed"
    with raise_on_failure(BuildError("toolkit-component-absent", message)):
        packages.install(names, log=log)
    for folder in _folders_of(target.package.toolkit, packages.directory):
        link_plain_names(Path(folder) / "lib")


def library_variables(components: Sequence[Component], packages: PurePath, toolkit: PurePath) -> dict[str, str]:
    """Variables by which tools find components outside their usual folders; both paths are as the build sees them."""
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
    """Find a CUDA home of exactly this release with `components`, or install one; see `complete_toolkit`."""
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
    parts = ",".join([*_COMPILER, *(_EXTRAS.get(name, name) for name in components if name in HEADERS)])
    with raise_on_failure(BuildError("toolkit-not-installed", f"CUDA toolkit {release} could not be installed")):
        packages.install([f"cuda-toolkit[{parts}]=={release}"], log=log)
    return packages.directory / "nvidia" / f"cu{cuda.major}"


def has_toolkit(cuda: CudaVersion, release: str) -> bool:
    """True if this machine has a toolkit, or NVIDIA's wheels provide one."""
    return cuda.major >= FIRST_WITH_COMPILER or any(_installed_toolkits(cuda, release))


def _installed_toolkits(cuda: CudaVersion, release: str) -> Iterator[Path]:
    named = [path for name in ("CUDA_HOME", "CUDA_PATH") if (path := os.environ.get(name))]
    homes = map(Path, (*named, f"/usr/local/cuda-{cuda}", "/usr/local/cuda"))
    return (home for home in homes if _release_of(home) == release)


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


_FIRST_HEADER_TIME: Final = 1_600_000_000
_ANSWERED: Final = """
# Written by wheelmill: the GPUs that this build is for. See gpu_probe in packages.yml.
from torch.cuda.wheelmill_gpus import answers as _answers

is_available, device_count, current_device, get_device_properties = _answers({capabilities})
"""


def install_packages(target: BuildTarget, packages: PackageFolder, workspace: Path, *, log: Path) -> PackageFolder:
    """Install torch, NVIDIA's libraries that no toolkit has, and the requirements; seal the folder if it is locked."""
    if target.torch_release:
        install_torch(target, packages, log=log)
    install_own_wheels(target, packages, log=log)
    return install_requirements(target, packages, workspace, log=log)


def install_torch(target: BuildTarget, packages: PackageFolder, *, log: Path) -> None:
    """Install the torch that a target links to."""
    cell, release = target.cell, target.torch_release
    with raise_on_failure(BuildError("torch-not-installed", f"{cell.id}: torch {release} cannot be installed")):
        packages.install([f"torch=={release}"], torch_backend=target.torch_backend, log=log)
    cuda = _cuda_of_torch(packages)
    if cuda != str(cell.cuda):
        raise BuildError(
            "torch-for-another-cuda",
            f"the package index gives torch {release} for CUDA {cuda}, not {cell.cuda}",
            hint="set pip or uv to an index that has torch for that CUDA",
        )
    if target.gpus:
        _answer_gpu_questions(packages.directory / "torch" / "cuda", target.gpus)
    _fix_times(packages.directory / "torch" / "include")


def _cuda_of_torch(packages: PackageFolder) -> str | None:
    """Read ``torch.version.cuda`` from its file: importing torch takes seconds, and a Python that it supports."""
    version = packages.directory / "torch" / "version.py"
    for node in ast.parse(version.read_text()).body if version.exists() else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "cuda" for target in targets):
                return str(ast.literal_eval(node.value))
    return None


def _answer_gpu_questions(torch_cuda: Path, gpus: tuple[Architecture, ...]) -> None:
    """Make the installed torch report these GPUs in every process."""
    shutil.copyfile(fake_gpu.__file__, torch_cuda / "wheelmill_gpus.py")
    capabilities = [(gpu.major, gpu.minor) for gpu in gpus]
    initial = torch_cuda / "__init__.py"
    answered = _ANSWERED.format(capabilities=capabilities).encode()
    write_bytes(initial, initial.read_bytes() + answered)  # a new file: the installer may link the old one to its cache


def _fix_times(headers: Path) -> None:
    """Give each header a time of its own: GCC's ``#pragma once`` takes torch's twins, if unpacked at once, for one."""
    for number, header in enumerate(sorted(path for path in headers.rglob("*") if path.is_file())):
        copy = header.with_name(f".{header.name}")  # the installer may have linked the file to its cache
        shutil.copyfile(header, copy)
        os.utime(copy, (_FIRST_HEADER_TIME + number,) * 2)
        copy.replace(header)


def install_requirements(target: BuildTarget, packages: PackageFolder, workspace: Path, *, log: Path) -> PackageFolder:
    """Install exactly the locked requirements and seal the folder; a source folder on this disk needs no lock."""
    wanted = (*target.package.build_requirements, *EVERY_BUILD_NEEDS)
    relock = f"run 'wheelmill config lock {target.cell.project}'"
    if target.requirements is None and not isinstance(target.source, Path):
        raise BuildError("not-locked", f"packages.lock has no build requirements of {target.cell.project}", hint=relock)
    uninstalled = f"{target.cell.id}: the build requirements cannot be installed"
    with raise_on_failure(BuildError("requirements-not-installed", uninstalled)):
        if target.requirements is None:
            packages.install(wanted, log=log)
            return packages
        pins = workspace / "requirements.txt"
        hashed = (
            [pin.requirement, *(f"--hash=sha256:{sha256}" for sha256 in pin.sha256)] for pin in target.requirements
        )
        pins.write_text("".join(f"{' '.join(words)}\n" for words in hashed))
        sealed = packages.install_locked(pins, log=log)
    outdated = f"packages.lock lacks build requirements that the entry of {target.cell.project} names"
    with raise_on_failure(BuildError("lock-outdated", outdated, hint=relock)):
        sealed.install(wanted, log=log)
    return sealed


_SEED: Final = "--frandom-seed=wheelmill"
"""Without it, symbol names of -lineinfo builds hold the number of nvcc's process."""
_SEED_SINCE: Final = CudaVersion(13, 0)
"""nvcc 12.4 refuses the option."""


def variables_of(
    target: BuildTarget, parallelism: Parallelism, *, packages: PurePath, toolkit: PurePath
) -> dict[str, str]:
    """Variables of any build; `packages` and `toolkit` are paths as the build sees them."""
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
    """Variables that decide the result, the same on every machine."""
    flags = " ".join((*_seed(target), *target.nvcc_flags))
    appended = {"NVCC_APPEND_FLAGS": flags} if flags else {}
    return {**_fixed_variables(target), **appended, **_own_variables(target)}


def _seed(target: BuildTarget) -> tuple[str, ...]:
    return (_SEED,) if target.cell.cuda >= _SEED_SINCE else ()


def _fixed_variables(target: BuildTarget) -> dict[str, str]:
    sass = [f"-gencode=arch={gpu.compute},code={gpu.sm}" for gpu in target.architectures]
    ptx = [f"-gencode=arch={gpu.compute},code={gpu.compute}" for gpu in target.architectures if gpu.ptx]
    gencode = {"WHEELMILL_GENCODE": " ".join(sass + ptx)} if target.package.gencode else {}
    # Torch's extension builder takes a family for an unknown architecture; here its flags are replaced anyway.
    for_torch = [replace(gpu, feature=gpu.feature.replace("f", "")) if gencode else gpu for gpu in target.architectures]
    return {
        "TORCH_CUDA_ARCH_LIST": ";".join(map(str, for_torch)),
        "CUDAARCHS": _architectures_in_forms(target)["cmake"],
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        **({"WHEELMILL_CXX_STANDARD": str(target.cxx_standard)} if target.cxx_standard else {}),
        **gencode,
        **({} if isinstance(target.source, LockedSdist) else _version_variables(target.cell)),
    }


def _version_variables(cell: Cell) -> dict[str, str]:
    """Variables that set the version where a tool would read it from git: no source has ``.git``, which dates builds.

    hatch-vcs reads those of setuptools-scm, but gives it no name of the project, so the general one is needed, too.
    https://setuptools-scm.readthedocs.io/en/latest/overrides/
    https://backend.pdm-project.org/metadata/#read-from-scm-tag-supports-git-and-hg
    https://github.com/mtkennerly/poetry-dynamic-versioning#environment-variables
    """
    named = f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{cell.project.upper().replace('-', '_')}"
    general = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS")
    return dict.fromkeys((named, *general), cell.version)


def _architectures_in_forms(target: BuildTarget) -> dict[ArchForm, str]:
    return {form: ";".join(map(write, target.architectures)) for form, write in _FORMS.items()}


def _digits(architecture: Architecture) -> str:
    return architecture.capability.replace(".", "")


_FORMS: Final[Mapping[ArchForm, Callable[[Architecture], str]]] = {
    "dotted": lambda each: each.capability,
    "digits": _digits,
    # Without a suffix it is machine code and PTX (https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html).
    "cmake": lambda each: f"{_digits(each)}{'' if each.ptx else '-real'}",
}


def _own_variables(target: BuildTarget) -> dict[str, str]:
    variables, written = dict(target.package.env), _architectures_in_forms(target)
    if own := target.package.arch_variable:
        variables = {own.name: written[own.form], **variables}
    for form, text in written.items():
        variables = {name: value.replace(ARCHITECTURES_IN[form], text) for name, value in variables.items()}
    return variables
