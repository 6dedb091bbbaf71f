"""Edits of a project's files; addition and removal of wheels in ``pyproject.toml``, where ``[project]`` is created."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import tomlkit
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, canonicalize_name

from wheelmill.client.lock.pins import Pin, pins_of
from wheelmill.client.project.declared import given_sources, sources_in, torch_indexes
from wheelmill.client.project.pyproject import PyprojectEditor, UvPyproject
from wheelmill.client.records import Links, Resolution
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, CudaVersion, ProjectName, PythonVersion, TorchVersion
from wheelmill.system.files import behind_links, write_bytes
from wheelmill.wheel.label import has_release_of
from wheelmill.wheel.name import wheel_behind
from wheelmill.wheel.platforms import tag_places


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Edit of a project's files, not yet written."""

    contents: Mapping[Path, bytes]
    """The new content of each file that changes."""
    notes: tuple[str, ...] = ()
    """Notes for the user, a sentence each."""

    @classmethod
    def of(cls, path: Path, content: bytes, notes: Sequence[str] = ()) -> Edit:
        """Return the edit of one file; it is empty if the file already has that content."""
        same = path.exists() and path.read_bytes() == content
        return cls(contents={} if same else {path: content}, notes=tuple(notes))

    def write(self) -> None:
        """Write each file atomically, with its mode, through links; a read-only one is refused, though replaceable."""
        for path, content in self.contents.items():
            goal = behind_links(path)
            if goal.exists() and not os.access(goal, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            write_bytes(goal, content, mode=stat.S_IMODE(goal.stat().st_mode) if goal.exists() else None)


_FIRST_VERSION = "0.1.0"


def complete_project_table(pyproject: PyprojectEditor, pythons: Collection[PythonVersion]) -> tuple[str, ...]:
    """Give ``[project]`` the name and version that installers require; return notes. New ones get ``pythons``."""
    had = pyproject.table("project")
    if had is None and pyproject.table("tool", "poetry") is not None:
        return ()  # Poetry 1 has no [project]
    if not pyproject.has_project_table:
        if not (script := pyproject.make_table()):
            script["requires-python"] = _range_of(pythons)
        return ()
    project = pyproject.make_table("project")
    dynamic = project.get("dynamic", ())
    if "name" not in project:
        project["name"] = _name_of_folder(pyproject)
    if "version" not in project and "version" not in dynamic:
        project["version"] = _FIRST_VERSION
    if had is not None:
        return ()
    project["requires-python"] = _range_of(pythons)  # the wheels are for no others
    project["dependencies"] = tomlkit.array().multiline(multiline=True)
    return (f"{pyproject.path.name}: new project {project['name']}, for Python {project['requires-python']}",)


def _range_of(pythons: Collection[PythonVersion]) -> str:
    oldest, newest = min(pythons), max(pythons)
    if (oldest.major, oldest.minor) == (newest.major, newest.minor):
        return f"=={oldest.major}.{oldest.minor}.*"
    return f">={oldest.major}.{oldest.minor},<{newest.major}.{newest.minor + 1}"


def _name_of_folder(pyproject: PyprojectEditor) -> str:
    try:
        return canonicalize_name(behind_links(pyproject.path).parent.name, validate=True)
    except InvalidName:
        return "project"


def add_wheels(pyproject: PyprojectEditor, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
    """Make a project depend on the wheels for each environment; ``asked`` is kept in ``tool.wheelmill`` for updates."""
    notes = [*complete_project_table(pyproject, [each.environment.python for each in resolutions])]
    torches = [each for each in asked if canonicalize_name(each.name) == TORCH]
    pyproject.ask([each for each in asked if each not in torches])
    for torch in torches:
        pyproject.ask_torch(torch)
    for project, texts in given_sources(pyproject.path, resolutions).items():
        pyproject.keep_source(project, texts)
    pyproject.link(links_after(pyproject.links, resolutions))
    for project, pins in pins_of(resolutions, named_indexes=pyproject.names_indexes).items():
        if project == TORCH:
            choices = [choice for each in resolutions for choice in each.choices.values()]
            pyproject.keep_torch_for(choice.candidate.project for choice in choices if choice.needs_torch)
            notes += _pin_torch(pyproject, pins, resolutions)
        else:
            had = pyproject.has_source_by_hand(project, pins)
            pyproject.pin(project, pins)
            if had and not pyproject.has_source_by_hand(project, pins):
                named = f"the source that {pyproject.path.name} named"
                notes.append(f"{project} no longer comes from {named}: the wheel is elsewhere")
            notes += _find_python_gap(pyproject, project, pins)
    if any(each.url for each in pyproject.requirements):
        notes += _allow_urls(pyproject)
    return Edit.of(pyproject.path, pyproject.text.encode(), notes)


def links_after(had: Links, resolutions: Iterable[Resolution]) -> Links:
    """Replace the links of wheels that are chosen again."""
    chosen = [choice for each in resolutions for choice in each.choices.values()]
    projects = {choice.candidate.project for choice in chosen}
    new = {(parent, choice.candidate.project) for choice in chosen for parent in choice.required_by}
    return frozenset(new.union(link for link in had if link[0] not in projects))


def removed_with(projects: Iterable[ProjectName], links: Links, asked: Iterable[Requirement]) -> list[ProjectName]:
    """List projects to remove, and those that were chosen for them alone."""
    removed, names = [*projects], {canonicalize_name(each.name) for each in asked}
    for parent in removed:  # which grows
        kept = names.union(removed, (project for other, project in links if other not in removed))
        removed += sorted({project for other, project in links if other == parent} - kept)
    return removed


def new_project_text(resolution: Resolution, name: ProjectName) -> str:
    """The ``pyproject.toml`` of a project that depends on chosen wheels only."""
    pyproject = UvPyproject(Path(name) / "pyproject.toml")
    complete_project_table(pyproject, [resolution.environment.python])
    for project, pins in pins_of([resolution]).items():
        pyproject.pin(project, pins)
    return pyproject.text


def remove_packages(pyproject: PyprojectEditor, projects: Sequence[ProjectName]) -> Edit:
    """Remove dependencies from a project, and the additions made for them alone."""
    check_depends(pyproject.path, pyproject.requirements, projects)
    for project in projects:
        pyproject.draw_from(project, [])  # Poetry has a table of sources for each group
        pyproject.write_dependencies(project, [])
        pyproject.forget(project)
    pyproject.link(frozenset(link for link in pyproject.links if not {*link} & {*projects}))
    pyproject.release_torch(projects)
    return Edit.of(pyproject.path, pyproject.text.encode())


def check_depends(path: Path, requirements: Iterable[Requirement], projects: Iterable[ProjectName]) -> None:
    """Check that a project depends on the projects to remove."""
    dependencies = {canonicalize_name(each.name) for each in requirements}
    if missing := [project for project in projects if project not in dependencies]:
        raise UsageError(
            "not-a-dependency",
            f"{path} does not depend on {', '.join(missing)}",
            hint=f"it depends on {', '.join(sorted(dependencies)) or 'nothing'}",
        )


def range_of(requirement: Requirement) -> SpecifierSet:
    """Return the range of a requirement; for the URL of a wheel, the version in its name."""
    wheel = wheel_behind(requirement.url or "")
    return SpecifierSet(f"=={wheel.version}") if wheel else requirement.specifier


_CUDA_TAG: Final = re.compile(r"cu[0-9]{3}")


def find_declared_cuda(torches: Iterable[Requirement], indexes: Iterable[str]) -> CudaVersion | None:
    """Find the CUDA of a pin such as ``2.8.0+cu128``, or of an index's URL; None if there is none, or several."""
    labels = (each.version.partition("+")[2] for torch in torches for each in range_of(torch))
    words = {*labels, *(word for url in indexes for word in url.split("/"))}
    cudas = {CudaVersion.parse(word) for word in words if _CUDA_TAG.fullmatch(word)}
    return cudas.pop() if len(cudas) == 1 else None


def _find_python_gap(pyproject: PyprojectEditor, project: ProjectName, pins: Sequence[Pin]) -> Iterator[str]:
    """Name a Python beside those of the pins that the project is for, and no wheel that has a URL."""
    wanted = str((pyproject.table("project") or {}).get("requires-python", ""))
    wheels = [wheel for pin in pins if (wheel := wheel_behind(Requirement(pin.requirement).url or ""))]
    targets = {target.python: target for pin in pins for target in pin.environments}
    beside = {replace(own, minor=own.minor + step): each for own, each in targets.items() for step in (-1, 1)}
    for python in sorted(beside.keys() - targets.keys()) if wheels and wanted else ():
        tags = tag_places(python, beside[python].platform, beside[python].libc).keys()
        with suppress(InvalidSpecifier):  # which the project's tool explains
            is_wanted = f"{python.major}.{python.minor}.99" in SpecifierSet(wanted)
            if is_wanted and all(tags.isdisjoint(each.tags) for each in wheels):
                command = f"wheelmill add {project} --python {','.join(map(str, sorted([*targets, python])))}"
                yield f"{project} is a URL, and not for Python {python}: '{command}' adds one for each"


def _pin_torch(pyproject: PyprojectEditor, pins: Sequence[Pin], resolutions: Sequence[Resolution]) -> Iterator[str]:
    """Pin the torch that wheels are linked to, unless a dependency admits no other minor release already."""
    wanted = {resolution.environment.torch for resolution in resolutions} - {None}
    had = [each for each in pyproject.requirements if canonicalize_name(each.name) == TORCH]
    had = [each for each in had if any(pin.counts_for(each.marker) for pin in pins)]
    check_torch(pyproject.path, pyproject.torch_by_hand, resolutions)
    around = {TorchVersion(each.major, each.minor + step) for each in wanted if each for step in (-1, 1)} - wanted
    narrow = had and not any(has_release_of(torch, range_of(each)) for each in had for torch in around)
    if not narrow:
        # Other machines have the torch that the project declares for all, too.
        pyproject.depend(TORCH, [replace(pin, marker=None) for pin in pins] if had and len(pins) == 1 else pins)
        for requirement in pyproject.torch_by_hand:
            pinned = ", ".join(pin.requirement for pin in pins if pin.counts_for(requirement.marker))
            if pinned:
                yield f"{requirement} was changed to {pinned}: the wheels are linked to that torch"
    if narrow and any(requirement.url for requirement in had):
        return
    if not pyproject.has_source_by_hand(TORCH, pins):
        pyproject.draw_from(TORCH, pins)
        return
    named = torch_indexes(sources_in([pyproject]))
    cudas = {str(resolution.environment.cuda) for resolution in resolutions}
    is_special = any(pin.index for pin in pins) or any(url.rstrip("/").endswith("/cpu") for url in named)
    if is_special and cudas != {str(find_declared_cuda((), named))}:
        yield f"torch keeps its source in {pyproject.path.name}, which must be one for CUDA {', '.join(sorted(cudas))}"


def _allow_urls(pyproject: PyprojectEditor) -> Iterator[str]:
    """Let hatchling build a project that names a wheel by its URL: https://hatch.pypa.io/latest/config/metadata/."""
    backend = (pyproject.table("build-system") or {}).get("build-backend")
    allowed = (pyproject.table("tool", "hatch", "metadata") or {}).get("allow-direct-references")
    if backend == "hatchling.build" and not allowed:
        pyproject.make_table("tool", "hatch", "metadata")["allow-direct-references"] = True
        yield f"{pyproject.path.name}: tool.hatch.metadata.allow-direct-references was set, which hatchling needs"


def check_torch(path: Path, had: Iterable[Requirement], resolutions: Iterable[Resolution]) -> None:
    """Refuse wheels for a torch that a project's dependencies exclude."""
    wanted = [(each.torch, each.environment) for each in resolutions if each.torch]
    for requirement in had:
        for torch, target in wanted:
            is_meant = canonicalize_name(requirement.name) == TORCH and target.meets(requirement.marker)
            if is_meant and not has_release_of(torch, range_of(requirement)):
                raise UsageError(
                    "dependency-conflict",
                    f"{path} depends on {requirement}, but the wheels are for torch {torch}",
                    hint="change that dependency, or choose with --torch",
                )
