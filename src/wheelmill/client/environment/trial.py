"""Trying installed wheels: each is imported, and its own smoke script launches kernels where there is a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.client.built_for import BuiltFor
from wheelmill.client.environment.failures import Failure, explain_failure
from wheelmill.client.install.installed import modules_of
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model import Expectations
from wheelmill.errors import ProcessError
from wheelmill.names import ProjectName
from wheelmill.system import process

_SECONDS: Final = 600
"""A first import may compile kernels."""

_IMPORT: Final = """
import importlib, sys
try:
    import torch
except ImportError:
    pass
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


_NOT_EXTENSIONS: Final = frozenset({"torch", "torchvision", "torchaudio"})


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of one package."""

    project: ProjectName
    version: str
    imports: tuple[str, ...]
    failure: Failure | None
    kernel: str
    """``ran``, ``failed``, or why it was skipped."""


def compiled_projects(installed: Mapping[ProjectName, str]) -> list[ProjectName]:
    """Those whose version says what CUDA or torch they were built for, but for torch itself."""
    labels = {project: BuiltFor.of_installed(version) for project, version in installed.items()}
    return [project for project, label in labels.items() if label != BuiltFor() and project not in _NOT_EXTENSIONS]


def try_packages(
    versions: Mapping[ProjectName, str],
    interpreter: Path,
    environment: TargetEnvironment,
    expectations: Mapping[ProjectName, Expectations],
) -> Iterator[Trial]:
    """Import each package in a process of its own, and run its smoke script on a GPU.

    Args:
        versions: what is tried, as it is installed.
        interpreter: in whose environment.
        environment: has the GPUs.
        expectations: what ``packages.yml`` knows of a package: its modules and its script.
    """
    for project, version in versions.items():
        known = expectations.get(project)
        modules = known.imports if known else modules_of(interpreter, project)
        failure = _run(interpreter, _IMPORT, modules)
        kernel, failed = "the import failed", None
        if failure is None:
            kernel, failed = _kernel(interpreter, environment, known.script if known else None)
        yield Trial(project=project, version=version, imports=tuple(modules), failure=failure or failed, kernel=kernel)


def _kernel(interpreter: Path, environment: TargetEnvironment, script: str | None) -> tuple[str, Failure | None]:
    if not environment.gpus:
        return "there is no GPU", None
    if script is None:
        return "packages.yml has no smoke script for it", None
    failure = _run(interpreter, script, ())
    return ("failed" if failure else "ran"), failure


def _run(interpreter: Path, code: str, arguments: Sequence[str]) -> Failure | None:
    try:
        process.run(
            [interpreter.absolute(), "-I", "-c", code, *arguments],
            cwd=interpreter.absolute().parent,
            env=process.environment_for_foreign_code(),
            timeout=_SECONDS,
        )
    except ProcessError as error:
        return explain_failure(f"{error.tail}\n{interpreter.name} exited with {error.returncode}")
    return None
