"""Ledger records: date tags, a copy of releases, messages between the jobs of a factory, downloads by day."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Annotated, Final, Protocol, runtime_checkable

from pydantic import AfterValidator, AwareDatetime, Field

from wheelmill.names import RUN_NUMBER, ProjectName, PythonVersion, ReleaseTag, Sha256
from wheelmill.plan.targets import Cell, KnownFailures, PastBuild, PastBuilds
from wheelmill.release.manifest.rules import WHEEL_FILENAME
from wheelmill.system.process import printable
from wheelmill.wheel.name import wheel_behind

AN_HOUR: Final = timedelta(hours=1)
"""Time for which the host counts a change towards its limits."""
TRIED_AGAIN: Final = timedelta(days=30)
"""After this, a failed build is tried again even with the same inputs."""
LONGEST_RUN: Final = timedelta(days=35)
"""The host ends a run after this time (https://docs.github.com/en/actions/reference/limits)."""

RunNumber = Annotated[str, Field(pattern=RUN_NUMBER)]
"""The number that the host gave a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedWheel:
    """Published wheel, with the facts that planning, building and releasing need."""

    filename: Annotated[str, Field(pattern=WHEEL_FILENAME)]
    """Name of the file; builds that need the wheel copy it into a folder under this name."""
    sha256: Sha256
    size: int
    """Bytes."""
    cell: Cell | None = None
    """Cell that it was built for; None for a wheel that was not built by a factory."""
    pythons: tuple[PythonVersion, ...] = ()
    """The Pythons that it is for: the cell's own, or all that a stable ABI or py3-none wheel serves."""
    requires: tuple[ProjectName, ...] = ()
    """Packages of the factory that it requires."""
    seconds: float = 0.0
    """Seconds that its build took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRelease:
    """Published release."""

    tag: ReleaseTag
    manifest: Sha256
    """Hash of its ``manifest.json``."""
    published_at: AwareDatetime
    wheels: tuple[ReleasedWheel, ...]


def _checked(failures: KnownFailures) -> KnownFailures:
    """Refuse times without a time zone, and make text printable; plan owns the record and does not use pydantic."""
    if any(failure.failed_at.tzinfo is None for failure in failures.values()):
        raise ValueError("expected 'failed_at' with a time zone")
    return {
        inputs: replace(failure, id=printable(failure.id), reason=printable(failure.reason), log=printable(failure.log))
        for inputs, failure in failures.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Failures:
    """Builds that the compiler or the builder refused."""

    by_inputs: Annotated[KnownFailures, AfterValidator(_checked)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Claim: a run builds this group, so no other run does."""

    run: RunNumber
    attempt: int
    since: AwareDatetime
    cell: Cell
    """One of the group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """Lease: a publication that is in progress."""

    nonce: str
    """The random number of the publisher that holds it."""
    since: AwareDatetime
    """The last sign of life of its holder."""
    tag: ReleaseTag | None = None
    draft: int | None = None
    """The number that the host gave the draft."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """API calls that create something, reserved by a publisher from a time on."""

    at: AwareDatetime
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreleasedGroup:
    """Wheels that passed but are in no release yet; they are artifacts of the run that built them."""

    run: RunNumber
    wheels: Mapping[str, Sha256]
    """Their hashes, by file name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRun:
    """State that a run needs to continue an earlier one."""

    attempt: int
    """1, plus the number of runs right before it that produced nothing."""
    filters: Mapping[str, str]
    """Filters of its inputs, by name."""
    groups: tuple[str, ...]
    """The groups that are left."""
    unreleased: Mapping[str, UnreleasedGroup] = field(default_factory=dict)
    """Groups that are built and only have to be released."""
    since: AwareDatetime
    continues: RunNumber | None = None
    """The run whose work it goes on with."""
    waits_for: tuple[str, ...] = ()
    """Groups of other runs whose wheels some of its own require."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Work in progress of a factory."""

    claims: Mapping[str, Claim] = field(default_factory=dict)
    """By the group that is claimed."""
    leases: Mapping[str, Lease] = field(default_factory=dict)
    """By name; publishers share one."""
    changes: tuple[Reservation, ...] = ()
    runs: Mapping[RunNumber, LedgerRun] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadCount:
    """Number of downloads of wheels up to a day, as reported by their host."""

    day: Annotated[date, Field(ge=date(2000, 1, 1))]
    """A history begins the day before, which the first of all days has not."""
    projects: Mapping[ProjectName, Annotated[int, Field(ge=0)]]
    """All wheels of each together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Downloads:
    """Download counts; unlike releases, they cannot be recomputed."""

    counts: tuple[DownloadCount, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerState:
    """Whole content of the ledger."""

    releases: Mapping[ReleaseTag, LedgerRelease] = field(default_factory=dict)
    failures: KnownFailures = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    downloads: tuple[DownloadCount, ...] = ()
    """The oldest count first."""

    def without_old(self, now: datetime) -> LedgerState:
        """Drop expired entries: changes older than an hour, failures older than 30 days, runs older than 35."""
        changes = tuple(each for each in self.work.changes if now - each.at < AN_HOUR)
        failures = {inputs: each for inputs, each in self.failures.items() if now - each.failed_at < TRIED_AGAIN}
        runs = {run: each for run, each in self.work.runs.items() if now - each.since < LONGEST_RUN}
        return replace(self, failures=failures, work=replace(self.work, changes=changes, runs=runs))

    @property
    def wheels(self) -> Iterator[tuple[ReleasedWheel, ReleaseTag]]:
        """Wheels of all releases."""
        return ((wheel, release.tag) for release in self.releases.values() for wheel in release.wheels)

    @property
    def published(self) -> Mapping[str, tuple[Sha256, ReleaseTag]]:
        """Hash and release of every published wheel, by file name."""
        return {wheel.filename: (wheel.sha256, tag) for wheel, tag in self.wheels}

    @property
    def cells(self) -> Mapping[Cell, ReleaseTag]:
        """Published cells of the matrix, with their releases."""
        return {
            (wheel.cell if wheel.cell.python is python else replace(wheel.cell, python=python)): tag
            for wheel, tag in self.wheels
            if wheel.cell
            for python in wheel.pythons
        }

    @property
    def past_builds(self) -> PastBuilds:
        """Cost of the published wheels of each project, used to estimate new plans."""
        wheels: dict[ProjectName, list[ReleasedWheel]] = defaultdict(list)
        for wheel, _ in self.wheels:
            if wheel.cell:
                wheels[wheel.cell.project].append(wheel)
        return {
            project: PastBuild(
                seconds=sum(wheel.seconds for wheel in own) / len(own),
                size=sum(wheel.size for wheel in own) // len(own),
            )
            for project, own in wheels.items()
        }


_EVERY_ONE: Final = timedelta(days=400)
"""Time for which every count is kept; of older ones, the first of each month, since a ledger is always read whole."""


@runtime_checkable
class CountsDownloads(Protocol):
    """Release store that counts downloads."""

    def downloads(self) -> Mapping[str, int]:
        """Return the downloads of each published file until now, by its name, summed over all releases that have it.

        Raises NetworkError if the host gives no answer.
        """


def of_projects(downloads: Mapping[str, int]) -> Mapping[ProjectName, int]:
    """Sum the downloads of wheels by project; sidecars do not count, as installers fetch them while resolving."""
    counts: Counter[ProjectName] = Counter()
    for filename, count in downloads.items():
        if name := wheel_behind(filename):
            counts[name.project] += count
    return dict(sorted(counts.items()))


def with_count(state: LedgerState, count: DownloadCount) -> LedgerState:
    """Add a count to the ledger, replacing one of the same day; thin out old counts."""
    kept: list[DownloadCount] = []
    months: set[tuple[int, int]] = set()
    others = [other for other in state.downloads if other.day != count.day]
    for known in sorted((*others, count), key=lambda known: known.day):
        month = (known.day.year, known.day.month)
        if count.day - known.day < _EVERY_ONE or month not in months:
            kept.append(known)
        months.add(month)
    return replace(state, downloads=tuple(kept))


_LIKE_A_DAY: Final = re.compile(r"v\d{4}-.*", re.ASCII)


def date_tags(day: date) -> Iterator[ReleaseTag]:
    """Yield every tag of a day, in order: ``v2026-11-21``, ``v2026-11-21.2`` for the second release, and so on."""
    yield ReleaseTag(f"v{day:%Y-%m-%d}")
    for number in itertools.count(2):
        yield ReleaseTag(f"v{day:%Y-%m-%d}.{number}")


def is_date_tag(text: str) -> bool:
    """True if a tag is a date tag; a repository may have other releases."""
    try:
        day = date.fromisoformat(text[1:11])
    except ValueError:
        return False
    number = text[12:]
    later = number.isascii() and number.isdigit() and not number.startswith("0") and number != "1"
    return text == f"v{day}" or (later and text == f"v{day}.{number}")


def is_like_date_tag(text: str) -> bool:
    """True if a tag is a date tag or could be mistaken for one: ``v2026-11-21-hotfix``."""
    return bool(_LIKE_A_DAY.fullmatch(text))
