"""Versions named by a lock or a project: checks of their installation and of their files' URLs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from packaging.pylock import Pylock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.doctor.inventory import Examined
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.client.install.wheel_cache import WantedWheel, WheelCache
from wheelmill.client.lock.environments import marker_environment
from wheelmill.client.lock.files import wheels_for
from wheelmill.client.project.pyproject import PyprojectEditor
from wheelmill.client.project.tool_project import read_tool_lock
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import IntegrityError, WheelmillError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName, wheel_behind

if TYPE_CHECKING:
    from wheelmill.web.client import Web


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Version that a lock or a project names."""

    project: ProjectName
    version: Version
    """With the label of the wheel's file name."""
    place: Path
    """The file that names it."""
    is_needed: bool
    """True if it must be installed, not only in certain environments."""
    any_label: bool = False
    """True if a version without a label stands for those with one, too, as in ``==2.8.3`` (PEP 440)."""

    def is_kept_by(self, version: str) -> bool:
        """True if an installed version is the named one."""
        public, _, _label = version.partition("+")
        return str(self.version) in ((version, public) if self.any_label else (version,))


def promises_of_lock(lock: Pylock, path: Path, environment: TargetEnvironment) -> list[Promise]:
    """The versions that a lock has for an environment."""
    names = (WheelName.parse(wheel.filename) for wheel in wheels_for(lock, environment))
    return [Promise(project=name.project, version=name.version, place=path, is_needed=True) for name in names]


def promises_of_project(
    requirements: Iterable[Requirement], path: Path, environment: TargetEnvironment
) -> Iterator[Promise]:
    """Yield the wheels that a project names by URL, and its pinned versions.

    ``path`` is the file with the requirements; their markers are evaluated for the environment.
    """
    markers = cast("dict[str, str]", marker_environment(environment))
    for requirement in requirements:
        if requirement.marker and not requirement.marker.evaluate(markers):
            continue
        name = wheel_behind(requirement.url) if requirement.url else None
        pins = [clause.version for clause in requirement.specifier if clause.operator == "=="]
        if name:
            yield Promise(project=name.project, version=name.version, place=path, is_needed=True)
        elif pins and not pins[0].endswith(".*"):
            project, version = canonicalize_name(requirement.name), Version(pins[0])
            yield Promise(project=project, version=version, place=path, is_needed=True, any_label=True)


def promises_of_tool_lock(path: Path) -> Iterator[Promise]:
    """Yield the versions in the lock of uv, Poetry or PDM that are the same for every environment."""
    found: dict[ProjectName, set[Version]] = {}
    for package in read_tool_lock(path):
        if package.version:
            found.setdefault(package.project, set()).add(package.version)
    for project, versions in found.items():
        if len(versions) == 1:
            yield Promise(project=project, version=versions.pop(), place=path, is_needed=False)


def defects_of_wheel(wheel: WantedWheel, cache: WheelCache, progress: Progress) -> Iterator[Defect]:
    """Download a wheel into the cache, which compares its bytes with the promised hash."""
    try:
        cache.fetch(wheel, progress)
    except IntegrityError as error:
        yield Defect(code=DefectCode.HASH, subject=wheel.filename, detail=str(error))
    except WheelmillError as error:
        yield Defect(code=DefectCode.URL, subject=wheel.filename, detail=str(error))


def promises_are_kept(promises: Iterable[Promise], examined: Examined) -> Iterator[Defect]:
    """Compare named versions with installed ones."""
    for promise in promises:
        installed = examined.by_project.get(promise.project)
        wanted = f"{promise.place.name} has {promise.version}"
        if installed is None:
            if promise.is_needed:
                yield _broken(promise, DefectCode.LOCK, promise.project, f"is not installed, but {wanted}")
            continue
        version = installed.distribution.version
        if promise.is_kept_by(version):
            continue
        is_usual = promise.version.local is not None and version == promise.version.public
        code = DefectCode.UNLABELLED if is_usual else DefectCode.LOCK
        detail = (
            f"is the usual package index's, which names no CUDA or torch, but {wanted}"
            if is_usual
            else f"is installed, but {wanted}"
        )
        yield _broken(promise, code, f"{promise.project} {version}", detail)


def _broken(promise: Promise, code: DefectCode, subject: str, detail: str) -> Defect:
    return Defect(code=code, subject=subject, detail=detail, project=promise.project, place=promise.place)


def defects_of_project(pyproject: PyprojectEditor) -> Iterator[Defect]:
    """Check that a project's added packages have a source, and its wheel URLs a hash."""
    sources = {canonicalize_name(name) for name in pyproject.table("tool", "uv", "sources") or {}}
    asked = {canonicalize_name(each.name) for each in pyproject.asked}
    for requirement in pyproject.requirements:
        name = canonicalize_name(requirement.name)
        if requirement.url:
            if requirement.url.endswith(".whl"):
                detail = f"no #sha256= in the URL {requirement.url}"
                yield Defect(code=DefectCode.HASH, subject=name, detail=detail, project=name, place=pyproject.path)
        elif name in asked and name not in sources:
            yield Defect(
                code=DefectCode.SHADOWED,
                subject=name,
                project=name,
                place=pyproject.path,
                detail="no URL and no entry in tool.uv.sources: the default index may have another file",
            )


def defects_of_lock(lock: Pylock, web: Web) -> Iterator[Defect]:
    """Request every wheel of a lock, without downloading it."""
    for package in lock.packages:
        for wheel in package.wheels or ():
            if wheel.url and not wheel.url.startswith("file:"):
                yield from _defects_of_url(wheel.filename, wheel.url, wheel.size, web)


def defects_of_project_urls(requirements: Iterable[Requirement], path: Path, web: Web) -> Iterator[Defect]:
    """Request the wheels that a project's file names by URL, without downloading them."""
    for requirement in requirements:
        if requirement.url and requirement.url.startswith("http"):
            name, url = canonicalize_name(requirement.name), requirement.url.partition("#")[0]
            for defect in _defects_of_url(name, url, None, web):
                yield replace(defect, project=name, place=path)


def _defects_of_url(subject: str, url: str, size: int | None, web: Web) -> Iterator[Defect]:
    try:
        answer = web.get(url, span="0-0")
        if not answer.ok:
            yield Defect(code=DefectCode.URL, subject=subject, detail=f"{url}: {answer.outcome}")
        elif size is not None and answer.size not in (None, size):
            detail = f"{url} has {answer.size} bytes, but the lock says {size}"
            yield Defect(code=DefectCode.SIZE, subject=subject, detail=detail)
    except WheelmillError as error:
        yield Defect(code=DefectCode.URL, subject=subject, detail=str(error))
