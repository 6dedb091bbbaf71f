"""What became of the groups of a plan that many jobs worked on, from the JSON that each job left."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from wheelmill.errors import IntegrityError
from wheelmill.pipeline.matrix_plan import PlannedGroup, read_plan
from wheelmill.system.record_files import read_record


@dataclass(frozen=True, kw_only=True)
class ReportedWheel:
    """A wheel that was examined."""

    ok: bool


@dataclass(frozen=True, kw_only=True)
class ReportedFailure:
    """A target without a wheel."""

    id: str
    stage: str
    message: str


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """What ``wheelmill run --json`` prints in the job of a group."""

    wheels: tuple[ReportedWheel, ...]
    failures: tuple[ReportedFailure, ...]
    left: tuple[str, ...]


State = Literal["done", "failed", "left", "lost"]

MAX_FAILURES: Final = 30
"""In one summary: GitHub shows a megabyte of each."""
_TAIL_LINES: Final = 25

_WORDS: Final[Mapping[State, str]] = {
    "done": "passed",
    "failed": "failed",
    "left": "out of time; another run goes on from there",
    "lost": "ended without a report: see its job",
}


@dataclass(frozen=True, kw_only=True)
class GroupOutcome:
    """What became of one group."""

    group: PlannedGroup
    report: JobReport | None
    """None when the job ended before it could say anything."""

    @property
    def state(self) -> State:
        """``left`` is for another run to go on with; ``lost`` is a job without a report."""
        if self.report is None:
            return "lost"
        return "left" if self.report.left else "failed" if self.report.failures else "done"

    @property
    def passed(self) -> int:
        """How many of its wheels passed smoke."""
        return sum(wheel.ok for wheel in self.report.wheels) if self.report else 0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What became of a plan."""

    outcomes: tuple[GroupOutcome, ...]
    waiting: tuple[str, ...]
    """Groups that require wheels of the others."""

    def groups(self, *states: State) -> tuple[str, ...]:
        """The names of the groups in some states."""
        return tuple(outcome.group.group for outcome in self.outcomes if outcome.state in states)

    @property
    def again(self) -> tuple[str, ...]:
        """Groups that another run should go on with."""
        return (*self.groups("left"), *self.waiting)


def summary_of(plan: Path, reports: Path) -> Summary:
    """Compare what was planned with what the jobs say.

    Args:
        plan: the file with the output of ``wheelmill plan --matrix``.
        reports: a folder of what ``wheelmill run --json`` printed, a file ``GROUP.json`` for each group.

    Raises:
        IntegrityError: ``plan`` is not such a file.
    """
    planned = read_plan(plan)
    outcomes = (GroupOutcome(group=each, report=_report_at(reports / f"{each.group}.json")) for each in planned.groups)
    return Summary(outcomes=tuple(outcomes), waiting=planned.waiting)


def _report_at(path: Path) -> JobReport | None:
    """Read a job's report; a job that was ended leaves none, or an empty file."""
    try:
        return read_record(path, JobReport) if path.exists() else None
    except IntegrityError:
        return None


def markdown_of(summary: Summary, *, rerun: str | None) -> str:
    """Show a summary as GitHub shows Markdown.

    Args:
        summary: the summary of a plan and its jobs.
        rerun: the command that runs failed groups again.
    """
    rows = [
        f"| `{outcome.group.group}` | {outcome.passed} of {outcome.group.wheels} | {_WORDS[outcome.state]} |"
        for outcome in summary.outcomes
    ]
    rows += [f"| `{group}` | | waits for packages of this run |" for group in summary.waiting]
    if not rows:
        return "Nothing to build.\n"
    lines = ["| group | wheels | |", "|---|---|---|", *rows]
    if rerun and summary.groups("failed", "lost"):
        lines += ["", "Run the failed groups again:", "", "```sh", rerun, "```"]
    failures = [failure for outcome in summary.outcomes if outcome.report for failure in outcome.report.failures]
    lines += itertools.chain.from_iterable(map(_failure_lines, failures[:MAX_FAILURES]))
    if len(failures) > MAX_FAILURES:
        lines += ["", f"{len(failures) - MAX_FAILURES} more failed; their logs are in the artifacts."]
    return "\n".join([*lines, ""])


def _failure_lines(failure: ReportedFailure) -> Sequence[str]:
    """A failure with the end of its log, which foreign code wrote: nothing in it may end the fence around it."""
    tail = failure.message.splitlines()[-_TAIL_LINES:]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", failure.message)), default=0))
    return ["", f"### `{failure.id}`: {failure.stage} failed", "", f"{fence}text", *tail, fence]
