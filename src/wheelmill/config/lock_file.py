"""``packages.lock``: its form, and the records that are made of it."""

from __future__ import annotations

from typing import Annotated

from packaging.requirements import Requirement
from packaging.utils import InvalidName, InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from pydantic import AfterValidator

from wheelmill.config.fields import (
    EachKeyOnce,
    Entry,
    Form,
    Hash,
    Hashes,
    Name,
    Requirements,
    Text,
    UpstreamVersion,
    hexadecimal,
    index_requirement,
)
from wheelmill.config.model import Lock, LockedCommit, LockedRequirement, LockedRequirements, LockedSdist
from wheelmill.config.packages_file import GitEntry


def _pin(text: str) -> str:
    requirement = Requirement(index_requirement(text))
    pinned = [specifier.operator for specifier in requirement.specifier] == ["=="] and "*" not in text.partition(";")[0]
    if not pinned or requirement.extras:
        raise ValueError(f"expected a pinned requirement such as 'ninja==1.13.2', not {text!r}")
    return str(requirement)


def _commit(text: str) -> str:
    return hexadecimal(text, 40)


def _sdist(text: str) -> str:
    try:
        canonicalize_name(parse_sdist_filename(text)[0], validate=True)  # which refuses folders
    except (InvalidName, InvalidSdistFilename):
        raise ValueError(f"expected the file name of a source distribution, not {text!r}") from None
    return text


class SdistEntry(Entry):
    """One locked source distribution."""

    sdist: Annotated[Text, AfterValidator(_sdist)]
    sha256: Hash
    requires: Requirements | None = None
    """What its pyproject.toml asks for, where build isolation wants to know."""


class CommitEntry(GitEntry):
    """One locked commit, and where it was found."""

    commit: Annotated[str, AfterValidator(_commit)]
    requires: Requirements | None = None


class PinEntry(Entry):
    """One locked build requirement: any file of that version with one of these hashes."""

    requirement: Annotated[Text, AfterValidator(_pin)]
    sha256: Hashes


class RequirementsEntry(Entry):
    """The locked build requirements of one package."""

    inputs: Requirements
    """What they were resolved from."""
    pinned: list[PinEntry]


class LockFile(Form):
    """``packages.lock``."""

    sdists: dict[Name, Annotated[dict[UpstreamVersion, SdistEntry], EachKeyOnce]]
    commits: dict[Name, Annotated[dict[UpstreamVersion, CommitEntry], EachKeyOnce]] = {}
    requirements: dict[Name, RequirementsEntry] = {}


def lock_of(file: LockFile) -> Lock:
    """Make records of a lock."""
    return Lock(
        sdists={
            (name, version): LockedSdist(
                filename=entry.sdist, sha256=entry.sha256, requires=_tuple_or_none(entry.requires)
            )
            for name, versions in file.sdists.items()
            for version, entry in versions.items()
        },
        commits={
            (name, version): LockedCommit(
                source=entry.record, commit=entry.commit, requires=_tuple_or_none(entry.requires)
            )
            for name, versions in file.commits.items()
            for version, entry in versions.items()
        },
        requirements={
            name: LockedRequirements(
                inputs=tuple(entry.inputs),
                pinned=tuple(
                    LockedRequirement(requirement=pin.requirement, sha256=tuple(pin.sha256)) for pin in entry.pinned
                ),
            )
            for name, entry in file.requirements.items()
        },
    )


def _tuple_or_none(items: list[str] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(items)
