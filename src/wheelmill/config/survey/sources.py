"""Sources to survey: the newest source distribution of a project, or a commit of a git repository, within limits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pydantic import TypeAdapter, ValidationError

from wheelmill.config.lock import commit_of, fetch_files, offered_sdists
from wheelmill.config.model.package_fields import GitRef, GitUrl
from wheelmill.errors import UsageError
from wheelmill.installers.environments import cached_sdist
from wheelmill.installers.package_index import files_of, open_index, unpack_sdist
from wheelmill.names import ProjectName, project_name, project_version
from wheelmill.wheel.metadata import reservation

_SHOWN_REF: Final = 12
"""Digits of a commit that a person reads."""


@dataclass(frozen=True, kw_only=True)
class SourceOrigin:
    """Source on this disk, with the origin that its entry records."""

    folder: Path
    name: str
    version: str | None
    source: dict[str, object] = field(default_factory=dict)
    """The key ``source``; empty for a source distribution."""
    notes: tuple[str, ...] = ()


def fetch_origin(text: str, version: str | None, subdirectory: str | None, destination: Path) -> SourceOrigin:
    """Fetch a source into an empty folder.

    `text` is a project of the package index, or the address of a git repository with ``@REF`` after it. Without a
    `version`, the newest is fetched, or the one in the repository's source. `subdirectory` is of a repository.
    """
    if ":" in text or "/" in text:
        return _from_git(text, version, subdirectory, destination)
    if subdirectory:
        raise UsageError(
            "subdirectory-without-repository",
            "--subdirectory is of a git repository; a source distribution is built as it is",
        )
    try:
        project = project_name(text)
        wanted = project_version(version) if version else None
    except ValueError as error:
        raise UsageError("origin-invalid", str(error)) from None
    if reason := reservation(project):
        raise UsageError("source-unavailable", reason)
    return _from_index(project, wanted, destination)


def _from_index(project: ProjectName, version: str | None, destination: Path) -> SourceOrigin:
    offered, yanked = offered_sdists(project)
    others = released(project)
    final = [each for each in others if not each.is_prerelease and each not in yanked]
    newest = Version(version) if version else max(final or offered, default=None)
    if newest is None or newest not in offered:
        older = max((each for each in offered if not each.is_prerelease), default=None)
        why = f"has no project {project}" if not others else f"has no source distribution of {project} {newest}"
        why = f"has yanked {project} {newest}: {yanked[newest]}" if newest in yanked else why
        raise UsageError(
            "no-source-distribution",
            f"the package index {why}" + (f"; the newest version that has one is {older}" if older else ""),
            hint="name its git repository: wheelmill config add https://HOST/OWNER/NAME@TAG",
        )
    sdist = offered[newest]
    archive = cached_sdist(project, sdist.sdist, sdist.sha256)
    return SourceOrigin(folder=unpack_sdist(archive, destination), name=project, version=str(newest))


def released(project: ProjectName) -> list[Version]:
    """Return the versions that the package index has files of, oldest first."""
    with open_index() as web:
        names = [file.filename for file in files_of(project, web)]
    versions = set()
    for name in names:
        with suppress(InvalidSdistFilename, InvalidWheelFilename):
            versions.add((parse_wheel_filename if name.endswith(".whl") else parse_sdist_filename)(name)[1])
    return sorted(versions)


def _from_git(text: str, version: str | None, subdirectory: str | None, destination: Path) -> SourceOrigin:
    scheme, colon, rest = text.partition("://")
    if "@" in rest.partition("/")[0]:  # which may be a password
        raise UsageError("origin-invalid", "expected the address of a git repository without a user")
    address, _, ref = rest.partition("@")
    url = f"{scheme}{colon}{address}"
    try:
        TypeAdapter(GitUrl).validate_python(url)
        TypeAdapter(GitRef).validate_python(ref or "main")
    except ValidationError as error:
        reason = str(error.errors()[0]["ctx"]["error"])
        raise UsageError("origin-invalid", f"{reason}; a tag, branch or commit may follow: URL@REF") from None
    commit = commit_of(url, ref or "HEAD")
    folder = fetch_files(url, commit, destination / "source")
    name = address.rstrip("/").rpartition("/")[2].removesuffix(".git")
    source: dict[str, object] = {"git": url, "ref": ref or commit}
    if (folder / ".gitmodules").is_file():
        source["submodules"] = True
    if subdirectory:
        source["subdirectory"] = subdirectory
    notes = () if ref else (f"no REF was given: {commit[:_SHOWN_REF]} is the newest commit",)
    return SourceOrigin(folder=folder, name=name, version=version, source=source, notes=notes)
