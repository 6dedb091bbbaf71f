"""Outcome of a plan that many jobs worked on, from their reports and from the published wheels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from wheelmill.errors import IntegrityError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.matrix_plan import MatrixPlan, PlannedGroup
from wheelmill.release.ledger.records import UnreleasedGroup
from wheelmill.release.store import RefusedWheel
from wheelmill.system.records import read_record

_TAIL_LINES: Final = 25
_MAX_LINE_CHARACTERS: Final = 300


def clip(line: str) -> str:
    """Shorten a line of foreign code for display and storage."""
    return line if len(line) <= _MAX_LINE_CHARACTERS else f"{line[:_MAX_LINE_CHARACTERS]} ..."


@dataclass(frozen=True, kw_only=True)
class ReportedWheel:
    """Examined wheel in a job's report."""

    ok: bool
    file: str
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class ReportedFailure:
    """Target without a wheel in a job's report."""

    id: str
    stage: Literal["build", "smoke", "release"]
    message: str
    compiler: str | None
    """The error of the compiler or the builder; None if neither is to blame, so that another try may succeed."""

    @property
    def tail(self) -> list[str]:
        """Output to show: of a build, the first error in its log, or the log's end."""
        return [clip(line) for line in self.message.splitlines()[-_TAIL_LINES:]]


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """Output of ``wheelmill run --json`` in the job of a group."""

    wheels: tuple[ReportedWheel, ...] = ()
    failures: tuple[ReportedFailure, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def passed(self) -> Mapping[str, Sha256]:
        """Wheels that passed, by file name."""
        return {wheel.file: wheel.sha256 for wheel in self.wheels if wheel.ok}


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """Output of ``wheelmill release --json`` in the job of a shard."""

    refused: tuple[RefusedWheel, ...]


State = Literal["done", "refused", "failed", "left", "unsigned", "unreleased", "lost"]


@dataclass(frozen=True, kw_only=True)
class GroupOutcome:
    """Outcome of one group."""

    group: PlannedGroup
    report: JobReport | None
    """None if the job ended without a report."""
    released: Mapping[str, ReleaseTag] = field(default_factory=dict)
    """The releases of its wheels, by file name."""
    refused: tuple[RefusedWheel, ...] = ()
    """Its wheels that the release did not take."""
    is_released: bool = True
    """True if wheels that passed were to be released."""

    @property
    def state(self) -> State:
        """State of the group: ``left`` is for another run to continue; ``lost`` is a job without a report."""
        if self.report is None:
            return "lost"
        if self.report.left:
            return "left"
        if any(each.unsigned for each in self.refused):
            return "unsigned"
        if self.unreleased:
            return "unreleased"
        return "failed" if self.report.failures else "refused" if self.refused else "done"

    @property
    def is_open(self) -> bool:
        """True if another run may build what this one did not."""
        return self.state in {"left", "unsigned", "unreleased", "lost"}

    @property
    def passed(self) -> Mapping[str, Sha256]:
        """Its wheels that passed smoke, by file name."""
        return self.report.passed if self.report else {}

    @property
    def unreleased(self) -> Mapping[str, Sha256]:
        """Wheels that passed and were neither released nor refused, by file name."""
        known = {*self.released, *(each.filename for each in self.refused)}
        return {name: sha256 for name, sha256 in self.passed.items() if self.is_released and name not in known}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Outcome of a plan."""

    outcomes: tuple[GroupOutcome, ...]
    waiting: tuple[str, ...]
    """Groups for a later run."""

    def groups(self, *states: State) -> tuple[str, ...]:
        """Return the names of the groups in some states."""
        return tuple(outcome.group.group for outcome in self.outcomes if outcome.state in states)

    @property
    def again(self) -> tuple[str, ...]:
        """Groups that another run should continue."""
        return (*(outcome.group.group for outcome in self.outcomes if outcome.is_open), *self.waiting)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Published wheels, and refusals, for the outcome of a plan."""

    wheels: Mapping[str, tuple[Sha256, ReleaseTag]]
    """Hash and release of each published wheel, by file name."""
    unreleased: Mapping[str, UnreleasedGroup]
    """Groups that an earlier run built and this one only had to release."""
    refused: tuple[RefusedWheel, ...]


def summary_of(plan: Path, reports: Path, published: Published | None = None) -> Summary:
    """Compare a plan with the reports of its jobs, and with what is published.

    ``reports`` has the output of ``wheelmill run --json``, a file ``GROUP.json`` for each group. ``published`` is None
    if nothing was to be released. Raises IntegrityError if ``plan`` is not the output of ``wheelmill plan --matrix``.
    """
    planned = read_record(plan, MatrixPlan)
    outcomes = (_outcome_of(each, _report_at(reports / f"{each.group}.json"), published) for each in planned.groups)
    return Summary(outcomes=tuple(outcomes), waiting=planned.waiting)


def _outcome_of(group: PlannedGroup, report: JobReport | None, published: Published | None) -> GroupOutcome:
    if published is None:
        return GroupOutcome(group=group, report=report, is_released=False)
    if report is None and (built := published.unreleased.get(group.group)):
        wheels = (ReportedWheel(ok=True, file=name, sha256=sha256) for name, sha256 in built.wheels.items())
        report = JobReport(wheels=tuple(wheels))
    passed = report.passed if report else {}
    listed = {name: published.wheels[name] for name in passed if name in published.wheels}
    released = {name: tag for name, (sha256, tag) in listed.items() if sha256 == passed[name]}
    refused = tuple(each for each in published.refused if each.filename in passed and each.filename not in released)
    return GroupOutcome(group=group, report=report, released=released, refused=refused)


def _report_at(path: Path) -> JobReport | None:
    """Read a job's report; None if the job was killed and left none, or an empty file."""
    try:
        return read_record(path, JobReport) if path.exists() else None
    except IntegrityError:
        return None


def refused_in(folder: Path) -> Iterable[RefusedWheel]:
    """Yield the wheels that releases refused, from a folder with the output of ``wheelmill release --json``."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield from read_record(path, ReleaseReport).refused
        except IntegrityError:  # its job was killed; its wheels count as unreleased
            continue
