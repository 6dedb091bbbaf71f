"""Creation of ``packages.lock``: sources, and build requirements with the pinned and hashed files that satisfy them."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_sdist_filename
from packaging.version import Version
from pydantic import ValidationError

from wheelmill.config.fields import index_requirement, is_commit, text_of
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Lock, LockedCommit, LockedRequirement, LockedRequirements, LockedSdist
from wheelmill.config.model.package import EVERY_BUILD_NEEDS, Package, without_torch
from wheelmill.config.model.package_parts import GitSource
from wheelmill.config.pyproject import MAX_BYTES, PKG_INFO, Pyproject
from wheelmill.config.survey.tree import count_code
from wheelmill.errors import ProcessError, UnreadableError, UsageError, WheelmillError
from wheelmill.installers.environments import cached_sdist
from wheelmill.installers.package_index import sdists_of, unpack_sdist
from wheelmill.installers.uv import compile_requirements, failure_of
from wheelmill.names import ProjectName, ProjectVersion, PythonVersion, Sha256
from wheelmill.system.files import read_start, write_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.git import fetch_commit, find_commit
from wheelmill.system.process import raise_on_failure
from wheelmill.system.records import adapter_of, plain_of
from wheelmill.web.pages import Link
from wheelmill.wheel.metadata import is_bound, read_fields

OLDEST_PYTHON: Final = "3.9"
"""The oldest Python that requirements are locked for."""


def locked_requirements(
    package: Package, sources: Collection[LockedSdist | LockedCommit], kept: LockedRequirements | None
) -> LockedRequirements:
    """Resolve the build requirements of a package for all its `sources`, or keep those from the same inputs."""
    required = [requirement for source in sources for requirement in source.requires or ()]
    if package.build_args.isolation and isinstance(package.source, Path):
        required.extend(Pyproject.read(package.source).requires)
    inputs = tuple(sorted({*package.build_requirements, *EVERY_BUILD_NEEDS, *without_torch(required)}))
    if kept and kept.inputs == inputs:
        return kept
    try:
        resolved = compile_requirements(
            inputs,
            *("--universal", "--python-version", _oldest_python(sources), "--generate-hashes", "--refresh"),
            *("--python", sys.executable),  # else uv looks for the oldest Python and may download it
            *("--no-annotate", "--no-emit-index-url"),
            output="requirements.txt",
            without=["torch"],
        )
    except ProcessError as error:
        reason = f"the build requirements of {package.name} ({', '.join(inputs)}) cannot be resolved:\n{error.tail}"
        raise failure_of(error, otherwise=UsageError("requirements-unknown", reason)) from None
    pins = []
    for line in resolved.replace("\\\n", "").splitlines():
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
        pins.append(
            LockedRequirement(requirement=str(Requirement(requirement)), sha256=tuple(sorted(map(Sha256, hashes))))
        )
    return LockedRequirements(inputs=inputs, pinned=tuple(sorted(pins, key=lambda pin: pin.requirement)))


def _oldest_python(sources: Collection[LockedSdist | LockedCommit]) -> str:
    """Return the oldest Python from `OLDEST_PYTHON` on that a source distribution is for: others need not resolve."""
    sdists = [source for source in sources if isinstance(source, LockedSdist)]
    oldest = PythonVersion.parse(OLDEST_PYTHON)
    pythons = (replace(oldest, minor=minor) for minor in range(oldest.minor, 100))
    return next((str(python) for python in pythons if any(sdist.is_for(python) for sdist in sdists)), OLDEST_PYTHON)


def _unpack(package: Package, source: LockedSource, place: Path) -> Path:
    """Put a locked source into an empty folder, a commit without its submodules; return the folder that is built."""
    if isinstance(source, LockedSdist):
        return unpack_sdist(cached_sdist(package.name, source.sdist, source.sha256), place)
    folder = fetch_files(source.git, source.commit, place / package.name)
    try:
        return source.folder_in(folder)
    except ValueError as error:
        raise UsageError("subdirectory-invalid", f"{package.place_of('source.subdirectory')}: {error}") from None


def _bounds_in(folder: Path, pyproject: Pyproject) -> tuple[str, ...] | None:
    """Return the requirements of all wheels of a source that leave out torches or CUDA majors, but computed ones."""
    fields = read_fields(read_start(folder / PKG_INFO, MAX_BYTES) if (folder / PKG_INFO).is_file() else b"")
    computed = {name.lower() for name in fields.get("dynamic", ())}  # which PKG-INFO names from 2.2 on (PEP 643)
    is_static = fields.get("metadata_version", "") in SpecifierSet(">=2.2") and "requires-dist" not in computed
    bounds = set()
    for text in fields.get("requires_dist", ()) if is_static else pyproject.dependencies:
        with suppress(ValueError):  # which no lock may have, such as URLs
            bounds.add(index_requirement(text_of(text)))
    return tuple(sorted(each for each in bounds if is_bound(Requirement(each)))) or None


LockedSource = LockedSdist | LockedCommit

Sources = dict[ProjectVersion, LockedSource]
"""Locked sources of one package."""

Locked = TypeVar("Locked", LockedSdist, LockedCommit)

_HEADER: Final = "# Written by 'wheelmill config lock'.\n"


@dataclass(frozen=True, kw_only=True)
class Locking:
    """Result of locking packages."""

    lock: Lock
    locked: tuple[ProjectName, ...]
    """Projects whose sources and requirements are locked."""
    failures: Mapping[ProjectName, WheelmillError] = field(default_factory=dict)
    """Other projects; their earlier lock is unchanged."""

    def whole(self) -> Lock:
        """Return the lock if it is complete."""
        for error in self.failures.values():
            raise error
        return self.lock


def lock_packages(config: Config, projects: Collection[ProjectName], *, upgrade: bool = False) -> Locking:
    """Lock the missing entries of ``packages.yml``, of all projects if none is named; `upgrade` renews the others."""
    config.refuse_unknown(projects)
    sources = {name: _still_locked(package, config.lock) for name, package in config.packages.items()}
    requirements = {name: locked for name, locked in config.lock.requirements.items() if name in config.packages}
    failures: dict[ProjectName, WheelmillError] = {}
    wanted = [name for name in config.packages if not projects or name in projects]
    for name in wanted:
        package = config.packages[name]
        try:
            looked_up = _looked_up(package, {} if upgrade else sources[name])
            kept = None if upgrade else requirements.get(name)
            requirements[name] = locked_requirements(package, looked_up.values(), kept)
            sources[name] = looked_up
        except WheelmillError as error:  # the other packages do not depend on it
            failures[name] = error
    lock = Lock(
        sdists=_of_type(LockedSdist, sources), commits=_of_type(LockedCommit, sources), requirements=requirements
    )
    locked = tuple(name for name in wanted if name not in failures)
    return Locking(lock=lock, locked=locked, failures=failures)


def _of_type(
    kind: type[Locked], sources: Mapping[ProjectName, Sources]
) -> dict[ProjectName, dict[ProjectVersion, Locked]]:
    chosen = {
        name: {version: source for version, source in own.items() if isinstance(source, kind)}
        for name, own in sources.items()
    }
    return {name: own for name, own in chosen.items() if own}


def _still_locked(package: Package, lock: Lock) -> Sources:
    locked = {version: lock.source_of(package, version) for version in package.versions}
    return {version: source for version, source in locked.items() if isinstance(source, LockedSdist | LockedCommit)}


def _looked_up(package: Package, kept: Sources) -> Sources:
    """Keep locked sources and look up missing ones, with the requirements in their files."""
    if isinstance(package.source, Path):
        return {}
    missing = [version for version in package.versions if version not in kept]
    if isinstance(package.source, GitSource):
        sources = kept | {version: _commit(package.source.at(version)) for version in missing}
    elif package.version_range is not None:
        sources = kept or sdists_in(package.version_range, package.name)
    else:
        sources = kept | _sdists(package, missing)
    return {
        version: _with_requirements(package, source, is_new=version not in kept) for version, source in sources.items()
    }


def _with_requirements(package: Package, source: LockedSource, *, is_new: bool) -> LockedSource:
    """Add the requirements in a source's files, and its code; a commit is only fetched for those of its build."""
    is_isolated = package.build_args.isolation
    if not (is_isolated and source.requires is None) and not (is_new and isinstance(source, LockedSdist)):
        return source
    with temporary_folder() as place, suppress(UnreadableError):  # which the build refuses, one version of many
        folder = _unpack(package, source, place)
        pyproject = Pyproject.read(folder)
        requires = pyproject.requires if is_isolated else source.requires
        code = count_code(folder, package.patches)
        return replace(source, requires=requires, requires_dist=_bounds_in(folder, pyproject), code=code)
    return source


def _commit(source: GitSource) -> LockedCommit:
    return LockedCommit(**vars(source), commit=commit_of(source.git, source.ref))


def commit_of(url: str, ref: str) -> str:
    """Return the commit of a tag, a branch or HEAD, or a commit itself; raises UsageError if there is none."""
    if is_commit(ref):
        return ref
    with raise_on_failure(UsageError("repository-silent", f"{url} does not answer")):
        if commit := find_commit(url, ref):
            return commit
    raise UsageError("ref-absent", f"{url} has no tag or branch {ref}")


def fetch_files(url: str, commit: str, folder: Path) -> Path:
    """Fetch the files of a commit, without submodules, into a new folder; raises UsageError if that fails."""
    with raise_on_failure(UsageError("commit-absent", f"{url} does not give {commit}")):
        fetch_commit(url, commit, folder, submodules=False)
    return folder


def _sdists(package: Package, versions: list[ProjectVersion]) -> Sources:
    if not versions:
        return {}
    offered, yanked = offered_sdists(package.name)
    reasons = [
        f"{package.name} {version} was yanked: {yanked[Version(version)] or 'no reason is given'}"
        if Version(version) in yanked
        else f"the package index has no source distribution of {package.name} {version}"
        for version in versions
        if Version(version) not in offered
    ]
    if reasons:
        raise UsageError("lock-failed", "\n".join(reasons))
    return {version: offered[Version(version)] for version in versions}


def sdists_in(versions: SpecifierSet, project: ProjectName) -> Sources:
    """Return every final release in a range, and pre-releases if it names one; raises UsageError without any."""
    offered, yanked = offered_sdists(project)
    chosen = versions.filter(offered, prereleases=bool(versions.prereleases))
    if sources := {ProjectVersion(str(version)): offered[version] for version in chosen}:
        return dict(sources)
    refused = ", ".join(f"{version} ({yanked[version]})" for version in versions.filter(yanked, prereleases=True))
    raise UsageError(
        "no-source-distribution",
        f"the package index has no source distribution of {project} {versions}"
        + (f" but yanked ones: {refused}" if refused else ""),
    )


def offered_sdists(project: ProjectName) -> tuple[dict[Version, LockedSdist], dict[Version, str]]:
    """Return the source distributions on the package index by version, and the reasons for yanked ones (PEP 592)."""
    offered: dict[Version, LockedSdist] = {}
    yanked: dict[Version, str] = {}
    for file in sdists_of(project):
        if sdist := _lock_entry(file, project):
            version = parse_sdist_filename(sdist.sdist)[1]
            if file.yanked is None:
                offered[version] = sdist
            else:
                yanked[version] = file.yanked
    return offered, yanked


def _lock_entry(file: Link, project: ProjectName) -> LockedSdist | None:
    """Return a file of the index as a lock entry; None if it must not be locked or builds cannot unpack it."""
    adapter, fields = adapter_of(LockedSdist), {"sdist": file.filename, "sha256": file.sha256}
    try:
        sdist = adapter.validate_python(fields)
    except ValidationError:
        return None
    with suppress(ValidationError):  # an invalid Requires-Python is ignored
        sdist = adapter.validate_python({**fields, "requires_python": file.requires_python})
    return sdist if sdist.sdist.endswith(".tar.gz") and parse_sdist_filename(sdist.sdist)[0] == project else None


def lock_changes(before: Lock, after: Lock) -> Iterator[str]:
    """Yield the differences between two locks, a line each: ``flash-attn: ninja 1.13.1 -> 1.13.2``."""
    for name in sorted({*after.sdists, *after.commits, *after.requirements}):
        old, new = _versions(before, name), _versions(after, name)
        for part in sorted(part for part in old.keys() & new if old[part] != new[part]):
            yield f"{name}: {part} {old[part]} -> {new[part]}"


def _versions(lock: Lock, project: ProjectName) -> dict[str, str]:
    """Return the locked versions of a project's source and of every build requirement."""
    sources = {**lock.sdists.get(project, {}), **lock.commits.get(project, {})}
    locked = lock.requirements.get(project)
    pins: dict[str, set[str]] = {}
    for pin in locked.pinned if locked else ():
        requirement = Requirement(pin.requirement)
        pins.setdefault(requirement.name, set()).add(str(requirement.specifier).removeprefix("=="))
    versions = {"its source": {str(version) for version in sources}, **pins}
    return {part: ", ".join(sorted(each, key=Version)) for part, each in versions.items()}


def newer_versions(config: Config, projects: Iterable[ProjectName]) -> Iterator[str]:
    """Yield a line for each package whose newest release ``packages.yml`` does not list."""
    for name in projects:
        package = config.packages[name]
        if package.source is None and package.version_range is None:
            offered, _ = offered_sdists(name)
            newest = max((version for version in offered if not version.is_prerelease), default=None)
            if newest and newest > max(map(Version, package.versions)):
                yield f"{name}: the package index has {newest}; {config.file.name} lists {', '.join(package.versions)}"


def write_lock(lock: Lock, path: Path) -> None:
    """Write the lock, sorted: equal locks give equal bytes."""
    ordered = {
        section: {name: dict(sorted(entry.items())) for name, entry in sorted(entries.items())}
        for section, entries in plain_of(lock).items()
    }
    text = yaml.safe_dump(ordered, sort_keys=False, width=200)
    write_bytes(path, (_HEADER + text).encode())
