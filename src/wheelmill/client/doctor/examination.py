"""Joint examination of an environment, its project and its lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from wheelmill.client.doctor import rules
from wheelmill.client.doctor.inventory import Examined
from wheelmill.client.doctor.promises import (
    Promise,
    defects_of_lock,
    defects_of_project,
    defects_of_project_urls,
    promises_are_kept,
    promises_of_lock,
    promises_of_project,
    promises_of_tool_lock,
)
from wheelmill.client.doctor.remedies import Remedies, Remedy
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.client.lock.files import read_lock
from wheelmill.client.project.project import Project
from wheelmill.client.project.pyproject import PyprojectEditor
from wheelmill.errors import NoWheelError
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from wheelmill.web.client import Web


_RULES: Final = (
    rules.driver_is_new_enough,
    rules.torch_is_there,
    rules.torch_is_of_one_release,
    rules.torch_has_cuda,
    rules.modules_are_its_own,
    rules.files_are_as_installed,
    rules.projects_are_installed_once,
    rules.aliases_have_their_wheels,
    rules.wheels_are_for_this_python,
    rules.labels_agree,
    rules.cuda_majors_agree,
    rules.libraries_are_there,
    rules.one_runtime_is_installed,
    rules.modules_are_for_this_python,
    rules.code_fits_the_machine,
)


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Examined parts, and their defects."""

    looked_at: Mapping[str, str]
    faults: Sequence[tuple[Defect, Remedy]]


def defects_of_environment(examined: Examined) -> Iterator[Defect]:
    """Apply every rule; if several report the same of one project, as its tags and its code may, keep the first."""
    told: set[tuple[DefectCode, str]] = set()
    for rule in _RULES:
        found = [each for each in rule(examined) if (each.code, each.subject) not in told]
        yield from found
        told.update((each.code, each.subject) for each in found)


def examine(
    examined: Examined, project: Project | None, lock: Path | None, web: Web | None, *, uv: str | None
) -> Examination:
    """Find the defects of an environment, and of the project and the lock that define its content.

    Args:
        examined: the environment.
        project: its project, which need not exist yet; None if none could be read.
        lock: a lock (PEP 751); None takes the ``pylock.toml`` beside the project, if there is one.
        web: checks the URLs of wheels; None sends no requests.
        uv: the program for remedies; None if they must use pip.

    Raises:
        UsageError: a file of the project cannot be read.
    """
    if project and not project.path.exists():
        project = None
    beside = project.root / "pylock.toml" if project else None
    pylock = lock or (beside if beside and beside.exists() else None)
    defects = [*defects_of_environment(examined), *_of_project(examined, project, pylock, web)]
    remedies = Remedies(
        examined=examined,
        uv=uv,
        project=project.path if project else None,
        asked=frozenset(canonicalize_name(each.name) for each in project.asked) if project else frozenset(),
    )
    return Examination(
        looked_at={**_describe(examined), "project": _describe_files(project, pylock)},
        faults=[(defect, remedies.remedy_of(defect)) for defect in defects],
    )


def _of_project(examined: Examined, project: Project | None, pylock: Path | None, web: Web | None) -> Iterator[Defect]:
    promises: list[Promise] = []
    if project:
        if project.kind.startswith("uv"):
            yield from defects_of_project(PyprojectEditor.read(project.path))
        promises += promises_of_project(project.requirements, project.path, examined.environment)
    locked = read_lock(pylock) if pylock else None
    if locked and pylock:
        try:
            promises += promises_of_lock(locked, pylock, examined.environment)
        except NoWheelError as error:
            yield Defect(code=DefectCode.LOCK, subject=pylock.name, detail=str(error), place=pylock)
    elif own := _lock_of(project):
        promises += promises_of_tool_lock(own)
    if examined.environment.interpreter:
        yield from promises_are_kept(_each_once(promises), examined)
    if web and project:
        yield from defects_of_project_urls(project.requirements, project.path, web)
    if web and locked:
        yield from defects_of_lock(locked, web)


def _lock_of(project: Project | None) -> Path | None:
    """The lock that a project's own tool writes; None if there is none."""
    return next((path for path in project.files if path.suffix == ".lock" and path.exists()), None) if project else None


def _describe_files(project: Project | None, pylock: Path | None) -> str:
    kind = [f"{project.kind} {project.path}"] if project else []
    return ", ".join([*kind, *(str(path) for path in (pylock, _lock_of(project)) if path)]) or "none"


def _each_once(promises: Sequence[Promise]) -> Iterator[Promise]:
    """Yield the first promise about each project."""
    yield from {each.project: each for each in reversed(promises)}.values()


def _describe(examined: Examined) -> Mapping[str, str]:
    """Describe the examined environment in words."""
    environment, counts = examined.environment, examined.counts
    torch = examined.path.find("torch")
    origins = Counter(folder.origin for folder in examined.path.folders)
    gpus = ", ".join(f"{gpu.name or 'GPU'} ({gpu.capability.sm})" for gpu in environment.gpus) or "no GPU"
    cuda = f"CUDA {environment.cuda}" if environment.cuda else "no CUDA"
    release = environment.torch_release or environment.torch
    python = f"{environment.python_release or environment.python} of {environment.interpreter or 'a description'}"
    return {
        "python": f"{python}, {environment.platform}" + (f" with {environment.libc}" if environment.libc else ""),
        "import path": ", ".join(f"{origin} ({count})" for origin, count in origins.items()),
        "torch": (f"{release}, for {cuda}" if release else "not installed")
        + (f", imported from {torch[1]}" if torch else ""),
        "machine": f"driver {environment.driver or 'none'}, {gpus}",
        "installed": f"{number_of(counts.distributions, 'distribution')} with {number_of(counts.files, 'file')} "
        f"(the hashes of {counts.hashed}, the sizes of the others) and "
        f"{number_of(counts.shared_objects, 'shared object')}",
    }
