"""Small files of ``config/``: ``images.yml``, ``packages.lock``, ``yanked.yml`` and ``removed.yml``."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import Version

from wheelmill.config.fields import (
    ByVersion,
    ConfigFile,
    EachKeyOnce,
    Entry,
    Hash,
    Hashes,
    KeyPath,
    KnownPlatform,
    Name,
    Range,
    Read,
    Requirements,
    Text,
    Truth,
    UpstreamVersion,
    VersionText,
    WholeNumber,
    from_text,
    hexadecimal,
    index_requirement,
)
from wheelmill.config.model.package import ONLY_PLANNED, Package
from wheelmill.config.model.package_parts import GitSource
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, ProjectName, ProjectVersion, PythonVersion, Word, is_sha256, read_requirement
from wheelmill.system.records import fields_of
from wheelmill.wheel.metadata import NEWEST_PATCH
from wheelmill.wheel.name import WheelName

# The grammar of references, without its short forms: a registry, a tag and a digest must be there.
# https://github.com/distribution/reference/blob/main/reference.go
_LABEL: Final = r"[a-z0-9]+(-+[a-z0-9]+)*"
_REGISTRY: Final = rf"(localhost|{_LABEL}(\.{_LABEL})+|{_LABEL}(\.{_LABEL})*:[0-9]+)"
_COMPONENT: Final = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
_NAME: Final = re.compile(rf"{_REGISTRY}(/{_COMPONENT})+")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, order=True, slots=True)
class ImageReference(Word):
    """One image of a registry. The digest decides its bytes; the tag is for people, and for finding a newer digest."""

    name: str
    """Fully qualified: ``docker.io/nvidia/cuda``."""
    tag: str
    """``13.0.2-devel-ubuntu24.04``."""
    digest: str
    """``sha256:`` and 64 lower-case hexadecimal digits: of an index, or of the manifest for one platform."""

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read ``docker.io/library/almalinux:8@sha256:...``."""
        tagged, _, digest = text.partition("@")
        name, _, tag = tagged.rpartition(":")
        if not (_NAME.fullmatch(name) and _TAG.fullmatch(tag)):
            example = "an image with its registry and tag such as 'docker.io/library/almalinux:8'"
            raise ValueError(f"expected {example}, not {tagged!r}")
        if not digest:
            raise ValueError(f"'{tagged}' is not pinned: expected '@sha256:' and 64 hexadecimal digits behind it")
        if not is_digest(digest):
            raise ValueError(f"expected 'sha256:' and 64 lower-case hexadecimal digits behind the '@', not {digest!r}")
        return cls(name, tag, digest)

    @property
    def registry(self) -> str:
        """The host that images of this name come from: ``docker.io``, ``localhost:5000``."""
        return self.name.partition("/")[0]

    @property
    def repository(self) -> str:
        """The name within the registry: ``nvidia/cuda``."""
        return self.name.partition("/")[2]

    @property
    def tagged(self) -> str:
        """``docker.io/library/almalinux:8``: the name and what it points to today."""
        return f"{self.name}:{self.tag}"

    def __str__(self) -> str:
        """``docker.io/library/almalinux:8@sha256:...``."""
        return f"{self.tagged}@{self.digest}"


def is_digest(text: str) -> bool:
    """Return True for ``sha256:`` and 64 lower-case hexadecimal digits."""
    algorithm, _, digest = text.partition(":")
    return algorithm == "sha256" and is_sha256(digest)


@dataclass(frozen=True, kw_only=True)
class _Pinned(Entry):
    checked: dt.date
    source: Text


@dataclass(frozen=True, kw_only=True)
class ManylinuxImages(_Pinned):
    """Images in which wheels are compiled, with when and where their digests were looked up."""

    images: Mapping[KnownPlatform, ImageReference]


@dataclass(frozen=True, kw_only=True)
class PlainImage(_Pinned):
    """A Linux without CUDA for the second clean environment, with where and when its digest was looked up."""

    image: ImageReference


@dataclass(frozen=True, kw_only=True)
class CudaImages(Entry):
    """The images of one CUDA release."""

    toolkit: VersionText
    """The toolkit release in them: 13.2.1. It may be another patch release than compatibility.yml has."""
    devel: ImageReference
    """Has the compiler and the headers; may stand for all platforms (an index) or for linux_x86_64 alone."""
    runtime: ImageReference
    """Has the libraries that a wheel may need at run time."""


@dataclass(frozen=True, kw_only=True)
class CudaImagesFacts(_Pinned, ByVersion[CudaVersion, CudaImages]):
    """The images of CUDA releases, with where and when their digests were looked up."""

    releases: Annotated[Mapping[CudaVersion, CudaImages], EachKeyOnce()]


@dataclass(frozen=True, kw_only=True)
class Images(ConfigFile):
    """``images.yml``."""

    manylinux: ManylinuxImages
    plain: PlainImage
    cuda: CudaImagesFacts

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Toolkits of another CUDA release, and images of another toolkit."""
        for cuda, entry in self.cuda.items():
            place = ("cuda", "releases", str(cuda))
            if not entry.toolkit.startswith(f"{cuda}."):
                message = f"expected a toolkit of CUDA {cuda} such as '{cuda}.1', not '{entry.toolkit}'"
                yield (*place, "toolkit"), message
            for key, image in (("devel", entry.devel), ("runtime", entry.runtime)):
                if not image.tag.startswith(f"{entry.toolkit}-"):  # NVIDIA's tags are 13.2.1-devel-ubuntu24.04
                    yield (*place, key), f"expected a tag of toolkit {entry.toolkit}, not '{image.tag}'"

    def of_cuda(self, cuda: CudaVersion) -> CudaImages:
        """Look up the images of a CUDA release. Raises UsageError if none are pinned for it."""
        if images := self.cuda.get(cuda):
            return images
        raise UsageError(
            "image-not-pinned", f"no image is pinned for CUDA {cuda}", hint="wheelmill config images --refresh --write"
        )


def _pin(text: str) -> str:
    requirement = Requirement(index_requirement(text))
    pinned = [specifier.operator for specifier in requirement.specifier] == ["=="] and "*" not in text.partition(";")[0]
    if not pinned or requirement.extras:
        raise ValueError(f"expected a pinned requirement such as 'ninja==1.13.2', not {text!r}")
    return str(requirement)


def _sdist(text: str) -> str:
    try:
        canonicalize_name(parse_sdist_filename(text)[0], validate=True)  # which refuses folders
    except (InvalidName, InvalidSdistFilename):
        raise ValueError(f"expected the file name of a source distribution, not {text!r}") from None
    return text


@dataclass(frozen=True, kw_only=True)
class SourceCode(Entry):
    """Code of a source that its build compiles, counted by `wheelmill config lock` for estimates."""

    cuda_files: WholeNumber | None = None
    """Number of its CUDA files; None if it has none."""
    bindings: WholeNumber | None = None
    """Number of other files that include headers of Python or torch; None if it has none."""
    includes_python: Truth
    """True if most CUDA files include ``Python.h``, so that each Python compiles them again."""


@dataclass(frozen=True, kw_only=True)
class LockedSdist(Entry):
    """One source distribution. The index it comes from is this machine's own setting."""

    sdist: Annotated[str, from_text(_sdist)]
    """Its file name."""
    sha256: Hash
    requires: Requirements | None = None
    """Build requirements of its ``pyproject.toml`` (PEP 518); None if a build without isolation does not ask."""
    requires_python: Range | None = None
    """Its Requires-Python, as the index has it (PEP 503); None if it says nothing."""
    requires_dist: Requirements | None = field(default=None, repr=False, metadata=ONLY_PLANNED)
    """Requirements of all its wheels, by PKG-INFO (PEP 643) or ``pyproject.toml`` (PEP 621), that leave out torches or
    CUDA majors; None if it has none, or its build computes them."""
    code: SourceCode | None = field(default=None, repr=False, metadata=ONLY_PLANNED)
    """None if it has none, or an earlier version of wheelmill locked it."""

    def is_for(self, python: PythonVersion) -> bool:
        """Return True if some patch release of a Python can build it."""
        return self.requires_python is None or f"{python.major}.{python.minor}.{NEWEST_PATCH}" in self.requires_python


@dataclass(frozen=True, kw_only=True)
class LockedCommit(GitSource):
    """One commit, and where it was found; `ref` is that of one version."""

    commit: Annotated[str, hexadecimal(40)]
    requires: Requirements | None = None
    """As of `LockedSdist`."""
    requires_dist: Requirements | None = field(default=None, repr=False, metadata=ONLY_PLANNED)
    """As of `LockedSdist`, by ``pyproject.toml``; None also for a build without isolation."""
    code: SourceCode | None = field(default=None, repr=False, metadata=ONLY_PLANNED)
    """As of `LockedSdist`; None also for a build without isolation."""


@dataclass(frozen=True, kw_only=True)
class LockedRequirement(Entry):
    """One build requirement: a version, and the hashes that its files may have."""

    requirement: Annotated[str, from_text(_pin)]
    """Pinned, perhaps for some Pythons or platforms only (PEP 508)."""
    sha256: Hashes


@dataclass(frozen=True, kw_only=True)
class LockedRequirements(Entry):
    """All that the builds of one package install, torch and CUDA left out."""

    inputs: Requirements
    """Requirements that they were resolved from: if these change, they are resolved anew."""
    pinned: tuple[LockedRequirement, ...]


@dataclass(frozen=True, kw_only=True)
class Lock(ConfigFile):
    """``packages.lock``."""

    sdists: Mapping[Name, Annotated[Mapping[UpstreamVersion, LockedSdist], EachKeyOnce()]]
    commits: Mapping[Name, Annotated[Mapping[UpstreamVersion, LockedCommit], EachKeyOnce()]] = field(
        default_factory=dict
    )
    requirements: Mapping[Name, LockedRequirements] = field(default_factory=dict)

    def source_of(self, package: Package, version: ProjectVersion) -> LockedSdist | LockedCommit | Path | None:
        """Return the folder or the locked source of a version; None if its source is not locked."""
        match package.source:
            case None:
                return self.sdists.get(package.name, {}).get(version)
            case GitSource() as source:
                commit = self.commits.get(package.name, {}).get(version)
                is_same = commit and fields_of(commit, GitSource) == fields_of(source.at(version))
                return commit if is_same else None
            case folder:
                return folder

    def versions_in(self, project: ProjectName, versions: SpecifierSet) -> tuple[ProjectVersion, ...]:
        """Return the locked versions of a project in a range, ascending."""
        locked = versions.filter(self.sdists.get(project, {}), prereleases=bool(versions.prereleases))
        return tuple(sorted(locked, key=Version))


class Status(StrEnum):
    """The status markers of projects (PEP 792)."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    """The project will get no new wheels."""
    QUARANTINED = "quarantined"
    """Unsafe: an index lists none of its files."""
    DEPRECATED = "deprecated"
    """Another project replaces it."""


def _wheel(value: object) -> str:
    filename = str(value)
    WheelName.parse(filename)
    return filename


def _versions(value: object) -> Requirement:
    example = "a project and its versions such as 'flash-attn==2.8.3'"
    try:
        named = read_requirement(str(value))
    except ValueError:
        raise ValueError(f"expected {example}, not {str(value)!r:.80}") from None
    if named.url or named.extras or named.marker or not named.specifier:
        raise ValueError(f"expected {example} and nothing else, not {value!r}")
    return Requirement(f"{canonicalize_name(named.name)}{named.specifier}")


def _reason(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a reason: installers show it to people")
    return text


def _status(text: str) -> Status:
    if text not in set(Status):
        raise ValueError(f"expected {', '.join(Status)}, not {text!r}")
    return Status(text)


Reason = Annotated[str, from_text(_reason)]
Wheels = Mapping[Annotated[str, Read(_wheel)], Reason]


@dataclass(frozen=True, kw_only=True)
class StatusEntry(Entry):
    """Status of a whole project in an index (PEP 792)."""

    status: Annotated[Status, from_text(_status)]
    """active, archived, quarantined (none of its files are listed) or deprecated (PEP 792)."""
    reason: Annotated[str | None, from_text(_reason)]
    """Shown to people; None for a project that no file names."""


@dataclass(frozen=True, kw_only=True)
class Yanked(ConfigFile):
    """``yanked.yml``: stays listed, but installers take it only for an exact pin (PEP 592)."""

    wheels: Wheels = field(default_factory=dict)
    """Reasons by file name."""
    versions: Annotated[Mapping[Annotated[Requirement, Read(_versions)], Reason], EachKeyOnce()] = field(
        default_factory=dict
    )
    """Reasons by project and versions: flash-attn==2.8.3 is every wheel of 2.8.3, whatever its label."""
    projects: Mapping[Name, StatusEntry] = field(default_factory=dict)
    """Projects that are not plainly active."""

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Wheels that are yanked twice."""
        for filename in self.wheels:
            name = WheelName.parse(filename)
            if self.reason_of_version(name.project, name.version) is not None:
                yield ("wheels", filename), "is yanked with its version already"

    def reason_of_version(self, project: ProjectName, version: Version) -> str | None:
        """Return the reason for yanking every wheel of a version; None if they are not yanked."""
        reasons = (
            reason
            for yanked, reason in self.versions.items()
            if yanked.name == project and yanked.specifier.contains(version, prereleases=True)
        )
        return next(reasons, None)


@dataclass(frozen=True, kw_only=True)
class Removed(ConfigFile):
    """``removed.yml``: wheels that are no longer listed, although a release or the deployed index has them."""

    wheels: Wheels = field(default_factory=dict)
    """Reasons by file name."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Facts about published wheels that an index adds to their manifests."""

    yanked: Yanked = Yanked()
    removed: Removed = Removed()

    def yank_reason(self, filename: str, project: ProjectName, version: Version) -> str | None:
        """Return the reason for yanking a wheel; None if it is not yanked."""
        return self.yanked.wheels.get(filename) or self.yanked.reason_of_version(project, version)

    def is_quarantined(self, project: ProjectName) -> bool:
        """Return True if an index lists none of a project's files."""
        entry = self.yanked.projects.get(project)
        return entry is not None and entry.status is Status.QUARANTINED
