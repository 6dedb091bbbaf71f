"""What a build imports: torch and the locked requirements, in one folder that has the same path for every Python.

Compilers see that path and the headers in it, so the caches of several Pythons can serve each other.
"""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path
from typing import Final

from wheelmill.build import gpu_answers
from wheelmill.build.toolkit import install_own_wheels
from wheelmill.config.model import EVERY_BUILD_NEEDS, LockedRequirement
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import Architecture
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import write_bytes

_FIRST_HEADER_TIME: Final = 1_600_000_000
_ANSWERED: Final = """
# Written by wheelmill: the GPUs that this build is for. See gpu_probe in packages.yml.
from torch.cuda.wheelmill_gpus import answers as _answers

is_available, device_count, current_device, get_device_properties = _answers({capabilities})
"""


def install_packages(target: BuildTarget, packages: PackageFolder, workspace: Path, *, log: Path) -> PackageFolder:
    """Install torch, NVIDIA's libraries that are in no toolkit, and the locked requirements.

    Returns:
        The folder, sealed if the target has a lock.

    Raises:
        BuildError: something cannot be fetched.
    """
    if target.torch_release:
        install_torch(target, packages, log=log)
    install_own_wheels(target, packages, log=log)
    return install_requirements(target, packages, workspace, log=log)


def install_torch(target: BuildTarget, packages: PackageFolder, *, log: Path) -> None:
    """Install the torch that a target links to.

    Raises:
        BuildError: it cannot be fetched, or is for another CUDA.
    """
    cell, release = target.cell, target.torch_release
    try:
        packages.install([f"torch=={release}"], torch_backend=target.torch_backend, log=log)
    except ProcessError as error:
        raise BuildError(
            "torch-not-installed", f"{cell.id}: torch {release} cannot be installed:\n{error.tail}"
        ) from None
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
    """Read ``torch.version.cuda`` from its file: importing torch takes seconds, and the Python that it is for."""
    version = packages.directory / "torch" / "version.py"
    for node in ast.parse(version.read_text()).body if version.exists() else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "cuda" for target in targets):
                return str(ast.literal_eval(node.value))
    return None


def _answer_gpu_questions(torch_cuda: Path, gpus: tuple[Architecture, ...]) -> None:
    """Have the installed torch report these GPUs, wherever it is imported."""
    shutil.copyfile(gpu_answers.__file__, torch_cuda / "wheelmill_gpus.py")
    capabilities = [(gpu.major, gpu.minor) for gpu in gpus]
    initial = torch_cuda / "__init__.py"
    answered = _ANSWERED.format(capabilities=capabilities).encode()
    write_bytes(initial, initial.read_bytes() + answered)  # a new file: the old one may be the installer's cache's own


def _fix_times(headers: Path) -> None:
    """Give every header its own timestamp, the same in every build.

    GCC's ``#pragma once`` takes two files for one when content, size and time agree, and torch has such twins;
    installers stamp them with the time of unpacking, so that what the compiler sees would differ by chance.
    """
    for number, header in enumerate(sorted(path for path in headers.rglob("*") if path.is_file())):
        copy = header.with_name(f".{header.name}")  # the installer may have linked the file to its cache
        shutil.copyfile(header, copy)
        os.utime(copy, (_FIRST_HEADER_TIME + number,) * 2)
        copy.replace(header)


def install_requirements(target: BuildTarget, packages: PackageFolder, workspace: Path, *, log: Path) -> PackageFolder:
    """Install exactly the locked requirements and seal the folder; a source on this disk may do without a lock.

    Raises:
        BuildError: they cannot be fetched, or the lock lacks some.
    """
    wanted = (*target.package.build_requirements, *EVERY_BUILD_NEEDS)
    relock = f"run 'wheelmill config lock {target.cell.project}'"
    if target.requirements is None and not isinstance(target.source, Path):
        raise BuildError("not-locked", f"packages.lock has no build requirements of {target.cell.project}", hint=relock)
    try:
        if target.requirements is None:
            packages.install(wanted, log=log)
            return packages
        sealed = packages.install_locked(_requirements_file(target.requirements, workspace), log=log)
    except ProcessError as error:
        raise BuildError(
            "requirements-not-installed", f"{target.cell.id}: the build requirements cannot be installed:\n{error.tail}"
        ) from None
    try:
        sealed.install(wanted, log=log)
    except ProcessError as error:
        raise BuildError(
            "lock-outdated",
            f"packages.lock lacks build requirements that the entry of {target.cell.project} names:\n{error.tail}",
            hint=relock,
        ) from None
    return sealed


def _requirements_file(requirements: tuple[LockedRequirement, ...], workspace: Path) -> Path:
    """A requirements file for uv: one pinned requirement per line, with the hashes that its wheel may have."""
    path = workspace / "requirements.txt"
    lines = (" ".join([pin.requirement, *(f"--hash=sha256:{sha256}" for sha256 in pin.sha256)]) for pin in requirements)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
