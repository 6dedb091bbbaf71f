"""Everything a build on this machine runs in: an interpreter, packages, a CUDA home, and fixed variables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.build.compiler_cache import CompilerCache, cache_of, link_toolkit
from wheelmill.build.identity import BuildPlace
from wheelmill.build.packages import install_packages
from wheelmill.build.parallelism import parallelism_for
from wheelmill.build.toolkit import complete_toolkit, provide_toolkit
from wheelmill.build.variables import variables_of
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers import environments
from wheelmill.installers.environments import PackageFolder, VirtualEnvironment
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import process, resources
from wheelmill.system.sandbox import Sandbox

_WORKSPACE: Final = Path("/tmp/wheelmill")  # noqa: S108 - in the sandbox
_CACHE: Final = Path("/tmp/wheelmill-compiled")  # noqa: S108
"""Paths reach the bytes of wheels: in the sandbox they are the same on every machine."""


@dataclass(frozen=True, kw_only=True)
class BuildEnvironment:
    """What the build backend of one target runs in."""

    python: Path
    packages: PackageFolder
    cache: CompilerCache
    variables: Mapping[str, str]
    """The whole environment of its processes."""
    sandbox: Sandbox
    """Where they run."""


def prepare_environment(target: BuildTarget, place: BuildPlace, workspace: Path, *, log: Path) -> BuildEnvironment:
    """Install what a target's build needs.

    Raises:
        BuildError: an interpreter, toolkit, torch or requirement cannot be fetched.
    """
    python = target.cell.python
    try:
        venv = environments.create(workspace / "venv", python=python)
    except ProcessError as error:
        raise BuildError(
            "no-build-environment",
            f"{target.cell.id}: no virtual environment with Python {python}:\n{error.tail}",
            hint=f"install Python {python} with its headers, or put it on PATH",
        ) from None
    packages = PackageFolder(directory=workspace / "packages", python=python, interpreter=venv.python)
    toolkit = provide_toolkit(target.cell.cuda, target.toolkit, packages, components=target.package.toolkit, log=log)
    packages = install_packages(target, packages, workspace, log=log)
    if toolkit.is_relative_to(packages.directory):
        complete_toolkit(toolkit)
    cuda_home = workspace / "cuda"
    headers, interpreter = _places_of(venv)
    cache = cache_of(target, target.toolkit, place, workspace, headers)
    foreign = process.environment_for_foreign_code()
    others = foreign.get("PATH", os.defpath)
    on_path = [Path(folder) for folder in others.split(os.pathsep) if Path(folder).is_dir()]
    sandbox = Sandbox(
        writable={workspace: _WORKSPACE, cache.folder: _CACHE},
        readable=[interpreter, toolkit, resources.DOCKER, *on_path],
    )
    link_toolkit(toolkit, cuda_home, sandbox)
    path = (cache.compilers / "bin", venv.directory / "bin", packages.scripts, cuda_home / "bin", others)
    temporary = workspace / "tmp"
    temporary.mkdir()
    parallelism = parallelism_for(len(target.architectures), per_compiler=target.package.memory_per_job)
    variables = {
        **foreign,
        "PATH": os.pathsep.join(str(part) for part in path),
        "PYTHONPATH": str(packages.directory),
        "VIRTUAL_ENV": str(venv.directory),
        "CUDA_HOME": str(cuda_home),
        "CUDA_PATH": str(cuda_home),
        "NVCC_CCBIN": shutil.which("g++", path=others) or "g++",  # not the one that goes through the cache
        "TMPDIR": str(temporary),
        **cache.variables(),
        **variables_of(target, parallelism, packages=packages.directory, toolkit=cuda_home),
    }
    return BuildEnvironment(python=venv.python, packages=packages, cache=cache, variables=variables, sandbox=sandbox)


def _places_of(venv: VirtualEnvironment) -> tuple[Path, Path]:
    """Where the headers of an environment's Python are, and where all of it is."""
    code = "import json, sys, sysconfig; print(json.dumps([sysconfig.get_path('include'), sys.base_prefix]))"
    headers, prefix = venv.evaluate(code)
    return Path(headers), Path(prefix)
