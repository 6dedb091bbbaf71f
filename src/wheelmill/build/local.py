"""Building on this machine: a virtual environment a target, and a toolkit that may come from wheels.

Each target has one folder that never moves, because nvcc derives the names of internal symbols from the path of the
source: a fixed path, a fixed time and stripped symbols make two builds of one target equal to the byte.
"""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from wheelmill.build.backend import build_raw_wheel
from wheelmill.build.environment import prepare_environment
from wheelmill.build.finish import finish_wheel
from wheelmill.build.records import BuiltWheel, Provenance, keep_provenance
from wheelmill.build.source import apply_patches, fetch_source
from wheelmill.files import sha256_of
from wheelmill.plan.records import BuildTarget
from wheelmill.progress import Progress


def build_locally(target: BuildTarget, *, policy: str, output: Path, progress: Progress) -> BuiltWheel:
    """Build one target on this machine.

    Args:
        target: what to build.
        policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
        output: the folder for the wheel, its provenance and ``<target>.log``.
        progress: told of every stage and every line.

    Raises:
        BuildError: it failed; with the last lines of the log.
    """
    cell = target.cell
    started = time.monotonic()
    output.mkdir(parents=True, exist_ok=True)
    log = (output / f"{cell.id}.log").resolve()
    log.unlink(missing_ok=True)
    with _workspace(target) as workspace:
        source, source_sha256 = fetch_source(target, workspace / "source")
        apply_patches(target.package.patches, source, log=log)
        torch = f", torch {target.torch_release}" if target.torch_release else ""
        progress.step(f"{cell.id}: preparing Python {cell.python}, CUDA {target.toolkit}{torch}")
        environment = prepare_environment(target, workspace, log=log)
        progress.step(f"{cell.id}: compiling for {', '.join(map(str, target.architectures))}; log in {log}")
        arguments = target.package.build_arguments
        raw = build_raw_wheel(
            source,
            workspace / "raw",
            environment,
            arguments,
            timeout=target.package.timeout,
            log=log,
            progress=progress,
        )
        file = finish_wheel(raw, target, policy=policy, workspace=workspace, output=output, log=log)
        installed = environment.venv.distributions()
    built = BuiltWheel(
        file=file,
        provenance=Provenance(
            sha256=file.sha256,
            cell=cell,
            architectures=target.architectures,
            source_sha256=source_sha256,
            patches=tuple(sha256_of(patch) for patch in target.package.patches),
            pythons=target.pythons,
            expectations=target.package.expectations,
            toolkit=target.toolkit,
            torch_release=target.torch_release,
            build_environment=tuple(f"{name}=={version}" for name, version in installed.items()),
            seconds=round(time.monotonic() - started, 1),
        ),
    )
    keep_provenance(built)
    progress.step(f"{cell.id}: built {file.filename}, {file.size} bytes, in {built.provenance.seconds:.0f} s")
    return built


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
