"""``yanked.yml`` and ``removed.yml``: their forms, and the record that is made of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from pydantic import AfterValidator

from wheelmill.config.document import KeyPath
from wheelmill.config.fields import EachKeyOnce, Entry, Form, Name, Text
from wheelmill.config.model.listing import Listing, ProjectStatus, Status
from wheelmill.names import ProjectName
from wheelmill.wheel.name import WheelName


def _wheel(filename: str) -> str:
    WheelName.parse(filename)
    return filename


def _versions(text: str) -> str:
    example = "a project and its versions such as 'flash-attn==2.8.3'"
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise ValueError(f"expected {example}, not {text!r}") from None
    if requirement.url or requirement.extras or requirement.marker or not requirement.specifier:
        raise ValueError(f"expected {example} and nothing else, not {text!r}")
    return f"{canonicalize_name(requirement.name)}{requirement.specifier}"


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a reason: installers show it to people")
    return text


def _status(text: str) -> Status:
    if text not in set(Status):
        raise ValueError(f"expected {', '.join(Status)}, not {text!r}")
    return Status(text)


Reason = Annotated[Text, AfterValidator(_said)]
Wheels = dict[Annotated[str, AfterValidator(_wheel)], Reason]


class StatusEntry(Entry):
    """What the index says of one project."""

    status: Annotated[Text, AfterValidator(_status)]
    """active, archived, quarantined (none of its files are listed) or deprecated (PEP 792)."""
    reason: Reason
    """Shown to people."""


class YankedFile(Form):
    """``yanked.yml``: stays listed, but installers take it only for an exact pin (PEP 592)."""

    wheels: Wheels = {}
    """Reasons by file name."""
    versions: Annotated[dict[Annotated[str, AfterValidator(_versions)], Reason], EachKeyOnce] = {}
    """Reasons by project and versions: flash-attn==2.8.3 is every wheel of 2.8.3, whatever its label."""
    projects: dict[Name, StatusEntry] = {}
    """Projects that are not plainly active."""

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """A wheel that is yanked twice."""
        versions = _by_project(self)
        for filename in self.wheels:
            name = WheelName.parse(filename)
            if any(which.contains(name.version, prereleases=True) for which in versions.get(name.project, {})):
                yield ("wheels", filename), "is yanked with its version already"


class RemovedFile(Form):
    """``removed.yml``: is listed no more, though a release has it or the deployed index had it."""

    wheels: Wheels = {}
    """Reasons by file name."""


def listing_of(yanked: YankedFile, removed: RemovedFile) -> Listing:
    """Make one record of both files."""
    return Listing(
        yanked_wheels=dict(yanked.wheels),
        yanked_versions=_by_project(yanked),
        statuses={
            project: ProjectStatus(status=Status(entry.status), reason=entry.reason)
            for project, entry in yanked.projects.items()
        },
        removed=dict(removed.wheels),
    )


def _by_project(file: YankedFile) -> dict[ProjectName, dict[SpecifierSet, str]]:
    versions: dict[ProjectName, dict[SpecifierSet, str]] = defaultdict(dict)
    for text, reason in file.versions.items():
        requirement = Requirement(text)
        versions[canonicalize_name(requirement.name)][requirement.specifier] = reason
    return dict(versions)
