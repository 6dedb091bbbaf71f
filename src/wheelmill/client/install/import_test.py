"""Import tests of installed wheels, followed by their own smoke script, which launches kernels if there is a GPU.

docs/when-it-does-not-work.md has a section for every failure, and for the doctor's findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.client.install.distributions import Distribution, modules_of
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model import Expectations
from wheelmill.errors import ProcessError
from wheelmill.names import ProjectName
from wheelmill.system import process
from wheelmill.system.own_installation import own_document
from wheelmill.system.process import Cause, find_cause
from wheelmill.wheel.label import BuiltFor

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


@dataclass(frozen=True, kw_only=True)
class TrialFailure:
    """Reason that a package does not work, in plain words."""

    code: str
    """Part of the commands' JSON."""
    explanation: str
    detail: str
    """The last lines that were printed."""

    @property
    def key_lines(self) -> list[str]:
        """The line that names the cause, if known, and the last two."""
        lines = self.detail.splitlines()
        known = [cause for cause in _CAUSES if cause.code == self.code]
        return [*[line for line in lines[:-2] if find_cause(line, known)][-1:], *lines[-2:]]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Result of testing one package."""

    project: ProjectName
    version: str
    imports: tuple[str, ...]
    failure: TrialFailure | None
    kernel: str
    """``ran``, ``failed``, or why it was skipped."""


def find_compiled_projects(installed: Mapping[ProjectName, Distribution]) -> list[ProjectName]:
    """List the projects whose version names their CUDA or torch, except torch itself and aliases."""
    labels = {project: each.label for project, each in installed.items()}
    of_torch = ("torch", "torchvision", "torchaudio")
    return [project for project, label in labels.items() if label != BuiltFor() and project not in of_torch]


def try_packages(
    versions: Mapping[ProjectName, str],
    interpreter: Path,
    environment: TargetEnvironment,
    expectations: Mapping[ProjectName, Expectations],
) -> Iterator[Trial]:
    """Import each package in a process of its own, and run the smoke script in its ``expectations`` on a GPU."""
    for project, version in versions.items():
        known = expectations.get(project)
        modules = known.imports if known else modules_of(interpreter, project)
        script = known.script if known else None
        if failure := _run(interpreter, _IMPORT, modules):
            kernel = "the import failed"
        elif not environment.gpus:
            kernel = "there is no GPU"
        elif script is None:
            kernel = "it has no smoke script"
        else:
            failure = _run(interpreter, script, ())
            kernel = "failed" if failure else "ran"
        yield Trial(project=project, version=version, imports=tuple(modules), failure=failure, kernel=kernel)


def _run(interpreter: Path, code: str, arguments: Sequence[str]) -> TrialFailure | None:
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


_CAUSES: Final = (
    Cause(
        code="no-kernel-image",
        pattern="no kernel image is available|cudaErrorNoKernelImageForDevice",
        hint="the wheel has no code for this GPU: take one that was built for it, or 'wheelmill build --here'",
    ),
    Cause(
        code="undefined-symbol",
        pattern="undefined symbol",
        hint="the wheel was compiled against another torch, or another C++ ABI, than the one that is installed",
    ),
    Cause(
        code="driver-too-old",
        pattern="cudaErrorCallRequiresNewerDriver|driver version is insufficient|requires a newer driver"
        "|NVIDIA driver on your system is too old|not supported in the currently installed CUDA driver"
        "|compiled with an unsupported toolchain",
        hint="the NVIDIA driver is older than the CUDA that the wheel was built with: update it, or take an older CUDA",
    ),
    Cause(
        code="glibc",
        pattern="(?-i:GLIBC|GLIBCXX)_",  # how symbols are versioned; in lower case it may be a part of a path
        hint="the wheel was built on a newer Linux than this one",
    ),
    Cause(
        code="cuda-library",
        pattern=r"libcudart\.so|libcublas|libcufft\.so|libcusparse|libcusolver|libnvrtc|libcurand",
        hint="the wheel needs libraries of another CUDA release than the one that is installed",
    ),
    Cause(
        code="torch-library",
        pattern="libtorch|libc10",
        hint="the wheel needs what this torch does not have: torch is missing, built without CUDA, or another one",
    ),
)
"""The first that is found counts: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html."""
_IMPORT_FAILED: Final = Cause(code="import", pattern="(?-i:Error)", hint="the import ends with an error")
_CRASH: Final = Cause(code="crash", pattern="", hint="the interpreter crashes without an error message")

FAILURES: Final = frozenset(cause.code for cause in (*_CAUSES, _IMPORT_FAILED, _CRASH))


def explain_failure(printed: str) -> TrialFailure:
    """Classify a traceback or a message of the dynamic linker."""
    cause = find_cause(printed, (*_CAUSES, _IMPORT_FAILED)) or _CRASH
    return TrialFailure(code=cause.code, explanation=cause.hint, detail=printed)


PAGE: Final = "docs/when-it-does-not-work.md"

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Undefined symbol": ("torch", "abi", "undefined-symbol"),
    "No kernel image": ("gpu", "no-kernel-image"),
    "Driver too old": ("driver", "driver-too-old"),
    "A library of CUDA is not found": ("library", "cuda", "runtimes", "cuda-library"),
    "glibc too old": ("glibc",),
    "torch is missing, or has no CUDA": ("torch-missing", "torch-build", "torch-library"),
    "Another project is installed": ("unlabelled", "shadowed"),
    "A wheel for another machine": ("python", "platform"),
    "Something else is imported": ("import-path", "search-path"),
    "A broken installation": ("missing-files", "changed-files", "corrupt", "metadata", "duplicate", "import", "crash"),
    "Not what was locked": ("lock", "alias", "hash", "size", "url"),
}
"""A heading of the page, and the codes that it explains."""


def name_sections(codes: Iterable[str]) -> str | None:
    """Name the sections of the document that explain these codes; None if this installation knows no place of it."""
    reported = set(codes)
    titles = [f'"{title}"' for title, explains in SECTIONS.items() if not reported.isdisjoint(explains)]
    page = own_document(PAGE)
    return f"explained in {page}: {', '.join(titles)}" if page else None
