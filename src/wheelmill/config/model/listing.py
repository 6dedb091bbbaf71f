"""What people say of wheels that are published: ``yanked.yml`` and ``removed.yml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.config.annotations import ConfigFile, EachKeyOnce, Entry, KeyPath, Read
from wheelmill.config.fields import Name, text_of
from wheelmill.names import ProjectName, read_requirement
from wheelmill.wheel.name import WheelName


class Status(StrEnum):
    """The status markers of projects (PEP 792)."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    """It will get no new wheels."""
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


def _reason(value: object) -> str:
    text = text_of(value)
    if not text.strip():
        raise ValueError("expected a reason: installers show it to people")
    return text


def _status(value: object) -> Status:
    text = text_of(value)
    if text not in set(Status):
        raise ValueError(f"expected {', '.join(Status)}, not {text!r}")
    return Status(text)


Reason = Annotated[str, Read(_reason)]
Wheels = Mapping[Annotated[str, Read(_wheel)], Reason]


@dataclass(frozen=True, kw_only=True)
class StatusEntry(Entry):
    """What an index says of a whole project (PEP 792)."""

    status: Annotated[Status, Read(_status)]
    """active, archived, quarantined (none of its files are listed) or deprecated (PEP 792)."""
    reason: Annotated[str | None, Read(_reason)]
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
        """Why every wheel of a version is yanked; None when they are not."""
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
    """What an index says of published wheels beside what their manifests say; nothing where no file says anything."""

    yanked: Yanked = Yanked()
    removed: Removed = Removed()

    def yank_reason(self, filename: str, project: ProjectName, version: Version) -> str | None:
        """Why a wheel is yanked; None when it is not."""
        return self.yanked.wheels.get(filename) or self.yanked.reason_of_version(project, version)

    def is_quarantined(self, project: ProjectName) -> bool:
        """Whether an index lists none of a project's files."""
        entry = self.yanked.projects.get(project)
        return entry is not None and entry.status is Status.QUARANTINED
