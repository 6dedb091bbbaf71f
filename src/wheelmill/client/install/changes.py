"""Changes of an environment: which packages are new, changed or gone, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from zlib import crc32

from packaging.version import InvalidVersion, Version

from wheelmill.client.install.distributions import Distribution, distributions_of
from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.wheel.record import read_rows


class ChangeKind(StrEnum):
    """What happens to a package: the words for people and in JSON."""

    INSTALLED = "installed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    REPLACED = "replaced"
    """By another build of the same version."""
    REMOVED = "removed"


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """A package in an environment, or one that will be."""

    version: str
    size: int | None
    """Bytes: unpacked if it is installed, else of its wheel; None when that is not known."""
    identity: int | None = None
    """Another number is another build; None is any."""


@dataclass(frozen=True, kw_only=True)
class PackageChange:
    """What happens to one package."""

    project: ProjectName
    kind: ChangeKind
    before: str | None
    """The version that is replaced or removed."""
    after: str | None
    """The version that is there afterwards."""
    size: int | None
    """Bytes of what comes; of a package that is removed, of what goes."""

    @property
    def sign(self) -> str:
        """The mark that uv uses for it."""
        return {ChangeKind.INSTALLED: "+", ChangeKind.REMOVED: "-"}.get(self.kind, "~")

    @property
    def versions(self) -> str:
        """``2.8.0 -> 2.9.0``, or the only one."""
        return " -> ".join(dict.fromkeys(filter(None, (self.before, self.after))))


def packages_in(interpreter: Path) -> Mapping[ProjectName, InstalledPackage]:
    """Everything that is installed for an interpreter.

    Raises:
        UsageError: it does not run.
    """
    return {each.project: _package(each) for each in reversed(distributions_of(interpreter))}


def _package(distribution: Distribution) -> InstalledPackage:
    try:
        record = distribution.folder.joinpath("RECORD").read_bytes() if distribution.folder else b""
        size = sum(row.size or 0 for row in read_rows(record)) if record else None
    except (OSError, UnreadableError):
        return InstalledPackage(version=distribution.version, size=None)
    return InstalledPackage(
        version=distribution.version, size=size, identity=crc32(record + str(distribution.origin).encode())
    )


def compare_packages(
    before: Mapping[ProjectName, InstalledPackage], after: Mapping[ProjectName, InstalledPackage]
) -> tuple[PackageChange, ...]:
    """The changes between two states of an environment, by name."""
    return tuple(_changes(before, after))


def _changes(
    before: Mapping[ProjectName, InstalledPackage], after: Mapping[ProjectName, InstalledPackage]
) -> Iterator[PackageChange]:
    for project in sorted({*before, *after}):
        old, new = before.get(project), after.get(project)
        if kind := _kind_of(old, new):
            yield PackageChange(
                project=project,
                kind=kind,
                before=old.version if old else None,
                after=new.version if new else None,
                size=(new or old or InstalledPackage(version="", size=None)).size,
            )


def _kind_of(old: InstalledPackage | None, new: InstalledPackage | None) -> ChangeKind | None:
    if new is None:
        return ChangeKind.REMOVED
    if old is None:
        return ChangeKind.INSTALLED
    if old.version == new.version:
        return (
            ChangeKind.REPLACED if None not in (old.identity, new.identity) and old.identity != new.identity else None
        )
    try:
        return ChangeKind.UPGRADED if Version(old.version) < Version(new.version) else ChangeKind.DOWNGRADED
    except InvalidVersion:
        return ChangeKind.REPLACED
