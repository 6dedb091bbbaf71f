"""A summary as Markdown, for people."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from wheelmill.pipeline.summary import ReportedFailure, State, Summary

MAX_FAILURES: Final = 30
"""In one summary: GitHub shows a megabyte of each."""
_TAIL_LINES: Final = 25

_WORDS: Final[Mapping[State, str]] = {
    "done": "passed",
    "failed": "failed",
    "left": "out of time; another run goes on from there",
    "lost": "ended without a report: see its job",
}


def markdown_of(summary: Summary, *, rerun: str | None) -> str:
    """Show a summary as GitHub shows Markdown.

    Args:
        summary: what to show.
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
