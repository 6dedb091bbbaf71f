"""Building on this machine: a virtual environment a target, and a toolkit that may come from wheels.

Each target has one folder that never moves, because nvcc derives the names of internal symbols from the path of the
source: a fixed path, a fixed time and stripped symbols make two builds of one target equal to the byte.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from build import BuildException, ProjectBuilder
from platformdirs import user_cache_path

from wheelmill import process, virtual_environment
from wheelmill.build.finish import finish_wheel
from wheelmill.build.parallelism import parallelism_for
from wheelmill.build.records import BuiltWheel, Provenance, keep_provenance
from wheelmill.build.source import fetch_source
from wheelmill.build.toolkit import provide_toolkit
from wheelmill.config.records import BuildArguments
from wheelmill.errors import BuildError, ProcessError
from wheelmill.plan.records import BuildTarget
from wheelmill.progress import Progress
from wheelmill.virtual_environment import VirtualEnvironment
from wheelmill.wheel.pack import SOURCE_DATE_EPOCH

_NVCC_FLAGS: Final = "--frandom-seed=wheelmill"
"""Without it, symbol names of -lineinfo builds hold the number of nvcc's process."""


def build_locally(target: BuildTarget, *, policy: str, output: Path, progress: Progress) -> BuiltWheel:
    """Build one target on this machine.

    Args:
        target: what to build.
        policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
        output: the folder for the wheel, its provenance and ``<target>.log``.
        progress: told of every stage and every line.

    Raises:
        BuildError: it failed; with the last lines of the log.
        UsageError: this machine lacks the interpreter or a compiler.
    """
    cell = target.cell
    started = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    log = (output / f"{cell.id}.log").resolve()
    log.unlink(missing_ok=True)
    with _workspace(target) as workspace:
        source, source_sha256 = fetch_source(target, workspace / "source")
        progress.step(f"{cell.id}: preparing Python {cell.python}, CUDA {target.toolkit}{_with_torch(target)}")
        environment = virtual_environment.create(workspace / "venv", python=cell.python)
        toolkit = provide_toolkit(cell.cuda, target.toolkit, environment, log=log)
        _install_requirements(target, environment, log=log)
        progress.step(f"{cell.id}: compiling for {', '.join(str(a) for a in target.architectures)}; log in {log}")
        variables = _variables(target, environment, toolkit, workspace)
        raw = _compile(source, workspace / "raw", target, environment, variables, log=log, progress=progress)
        file = finish_wheel(raw, target, policy=policy, workspace=workspace, output=output, log=log)
        distributions = environment.distributions()
        built = BuiltWheel(
            file=file,
            provenance=Provenance(
                sha256=file.sha256,
                cell=cell,
                architectures=target.architectures,
                source_sha256=source_sha256,
                test_import=target.package.test_import,
                toolkit=target.toolkit,
                torch_release=target.torch_release,
                build_environment=tuple(f"{name}=={version}" for name, version in distributions.items()),
                seconds=round(time.monotonic() - started, 1),
            ),
        )
    keep_provenance(built)
    progress.step(f"{cell.id}: built {file.filename}, {file.size} bytes, in {built.provenance.seconds:.0f} s")
    return built


def _with_torch(target: BuildTarget) -> str:
    return f", torch {target.torch_release}" if target.torch_release else ""


@contextmanager
def _workspace(target: BuildTarget) -> Iterator[Path]:
    """The target's own folder, empty, and nobody else's while it is held."""
    folder = user_cache_path("wheelmill") / "build" / target.cell.id
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _empty(folder)
        try:
            yield folder
        finally:
            _empty(folder)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)


def _install_requirements(target: BuildTarget, environment: VirtualEnvironment, *, log: Path) -> None:
    torch = [f"torch=={target.torch_release}"] if target.torch_release else []
    try:
        environment.install([*torch, *target.package.build_requirements, "setuptools", "wheel"], log=log)
    except ProcessError as error:
        raise BuildError(f"{target.cell.id}: the build requirements cannot be installed:\n{error.tail}") from None
    if target.torch_release is None:
        return
    cuda = environment.evaluate("import json, torch; print(json.dumps(torch.version.cuda))")
    if cuda != str(target.cell.cuda):
        raise BuildError(
            f"the package index gives torch {target.torch_release} for CUDA {cuda}, not {target.cell.cuda}",
            hint="set pip or uv to an index that has torch for that CUDA",
        )


def _variables(target: BuildTarget, environment: VirtualEnvironment, toolkit: Path, workspace: Path) -> dict[str, str]:
    """The environment of the build: fixed, without secrets, and the package's own variables on top."""
    parallelism = parallelism_for(len(target.architectures))
    foreign = process.environment_for_foreign_code()
    path = (environment.directory / "bin", toolkit / "bin", foreign.get("PATH", os.defpath))
    temporary = workspace / "tmp"
    temporary.mkdir()
    return foreign | {
        "PATH": os.pathsep.join(str(part) for part in path),
        "VIRTUAL_ENV": str(environment.directory),
        "CUDA_HOME": str(toolkit),
        "CUDA_PATH": str(toolkit),
        "TORCH_CUDA_ARCH_LIST": ";".join(str(architecture) for architecture in target.architectures),
        "MAX_JOBS": str(parallelism.jobs),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(parallelism.jobs),
        "NVCC_THREADS": str(parallelism.threads),
        "NVCC_APPEND_FLAGS": f"{_NVCC_FLAGS} --threads={parallelism.threads}",
        "LDFLAGS": "-Wl,-s",  # else names of nvcc's temporary files stay in the symbol table
        "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(temporary),
        **dict(target.package.env),
    }


def _compile(
    source: Path,
    destination: Path,
    target: BuildTarget,
    environment: VirtualEnvironment,
    variables: Mapping[str, str],
    *,
    log: Path,
    progress: Progress,
) -> Path:
    """Run the project's own build backend (PEP 517) in the build's environment."""

    def run(cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
        process.run(
            cmd,
            cwd=source if cwd is None else source.parent / cwd,
            env={**variables, **(extra_environ or {})},
            log=log,
            on_line=progress.line,
        )

    arguments: BuildArguments = target.package.build_arguments
    settings = dict(arguments.config_settings)
    try:
        builder = ProjectBuilder(source, python_executable=str(environment.python), runner=run)
        if arguments.isolation:
            environment.install(sorted(builder.build_system_requires), log=log)
            environment.install(sorted(builder.get_requires_for_build("wheel", settings)), log=log)
        return destination / builder.build("wheel", destination, settings)
    except (BuildException, ProcessError) as error:
        cause = getattr(error, "exception", error)
        tail = cause.tail if isinstance(cause, ProcessError) else str(cause)
        raise BuildError(f"{target.cell.id} does not build:\n{tail}\n(the whole log: {log})") from None
