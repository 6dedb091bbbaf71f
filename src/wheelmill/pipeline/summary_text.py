"""Summary as text for people: on the page of a run, and in a message of a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.names import ProjectName
from wheelmill.pipeline.chain import MAX_ATTEMPTS, RunEnd
from wheelmill.pipeline.summary import GroupOutcome, State, Summary, clip
from wheelmill.system.process import fenced, printable
from wheelmill.system.progress import number_of

MAX_ROWS: Final = 300
MAX_FAILURES: Final = 30
"""In one summary: GitHub shows a megabyte of each
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#adding-a-job-summary)."""

WORDS: Final[Mapping[State, str]] = {
    "done": "passed",
    "refused": "passed, and the release refuses it",
    "failed": "failed",
    "left": "out of time; another run continues from there",
    "unsigned": "passed, and no job signed it; another run builds it again",
    "unreleased": "passed, and is not released; another run releases it",
    "lost": "ended without a report; another run builds it again",
}


@dataclass(frozen=True, kw_only=True)
class RunText:
    """Text about a run, beyond the groups of its plan."""

    end: RunEnd
    index: str
    """Outcome of the index job in GitHub's words: success, failure, cancelled, skipped."""
    again: str
    """The command that starts another run by hand."""

    @property
    def lines(self) -> Iterator[str]:
        """State of the index, and the next steps."""
        if self.index in {"failure", "cancelled"}:
            yield "The index was not updated: what this run released is not listed yet."
        for run in self.end.continued:
            if run != self.end.run:
                yield f"Run {run} waited for what is done now; another run continues its work."
        left = self.end.left
        if left is None:
            yield "Nothing is left to do."
            return
        work = number_of(len(left.groups), "group") if left.groups else "the index"
        if self.end.goes_on:
            yield f"Another run continues {work}, as attempt {left.attempt} of {MAX_ATTEMPTS}."
        elif left.attempt <= MAX_ATTEMPTS:
            required = ", ".join(_first([f"`{group}`" for group in left.waits_for], 5))
            yield f"{work} must wait for what other runs build: {required}."
            yield "Those continue it when they are done."
            yield f"By hand: `{self.again}`"
        else:
            yield f"{MAX_ATTEMPTS} runs in a row produced nothing, so no other run continues {work}."
            yield f"To try again: `{self.again}`"


def markdown_of(summary: Summary, run: RunText | None = None) -> str:
    """Format a summary as GitHub's Markdown; ``run`` is None if nothing was to be released."""
    sections = [
        _package_table(summary.outcomes) if run else [],
        _group_table([outcome for outcome in summary.outcomes if not (run and outcome.state == "done")]),
        _waiting_lines(summary.waiting),
        list(run.lines) if run else [],
        _refusal_lines(summary.outcomes),
        _failures_of(summary.outcomes),
    ]
    if not summary.outcomes and not summary.waiting:
        sections.insert(0, ["Nothing to build."])
    return printable("\n\n".join("\n".join(lines) for lines in sections if lines)) + "\n"


def notice_of(summary: Summary, run: RunText) -> str:
    """Summarise in a few lines what a run achieved, and what may need a person; empty if all went well."""
    states = Counter(outcome.state for outcome in summary.outcomes)
    if set(states) <= {"done"} and not summary.waiting and run.end.left is None:
        return ""
    told = [f"{number_of(states[each], 'group')}: {WORDS[each]}" for each in WORDS if states[each] and each != "done"]
    released = sum(len(outcome.released) for outcome in summary.outcomes)
    failed = _first(summary.groups("failed", "refused"), 5)
    names = [f"failed: {', '.join(failed)}"] if failed else []
    return "\n".join([f"{number_of(released, 'wheel')} released", *told, *names, *run.lines])


def _package_table(outcomes: Sequence[GroupOutcome]) -> list[str]:
    packages: dict[ProjectName, list[GroupOutcome]] = {}
    for outcome in outcomes:
        packages.setdefault(outcome.group.project, []).append(outcome)
    rows = [_package_row(project, own) for project, own in packages.items()]
    return ["| package | built | released | what comes next |", "|---|---|---|---|", *rows] if rows else []


def _package_row(project: ProjectName, outcomes: Sequence[GroupOutcome]) -> str:
    built = f"{sum(len(each.passed) for each in outcomes)} of {sum(each.group.wheels for each in outcomes)}"
    tags = Counter(tag for each in outcomes for tag in each.released.values())
    released = ", ".join(_first([f"{count} in {tag}" for tag, count in sorted(tags.items())], 5)) or "none"
    states = Counter(each.state for each in outcomes)
    following = "; ".join(f"{states[state]}: {WORDS[state]}" for state in WORDS if states[state] and state != "done")
    return f"| `{project}` | {built} | {released} | {following or 'nothing: all is released'} |"


def _group_table(outcomes: Sequence[GroupOutcome]) -> list[str]:
    rows = [
        f"| `{outcome.group.group}` | {len(outcome.passed)} of {outcome.group.wheels} | {WORDS[outcome.state]} |"
        for outcome in outcomes
    ]
    return ["| group | wheels | |", "|---|---|---|", *_first(rows, MAX_ROWS, "| {} more | | |")] if rows else []


def _waiting_lines(waiting: Sequence[str]) -> list[str]:
    if not waiting:
        return []
    names = ", ".join(_first([f"`{name}`" for name in waiting], 10))
    return [f"{number_of(len(waiting), 'group')} must wait for another run: {names}"]


def _refusal_lines(outcomes: Iterable[GroupOutcome]) -> list[str]:
    rows = [f"- `{each.filename}` {clip(each.reason)}" for outcome in outcomes for each in outcome.refused]
    return ["### Not released", "", *_first(rows, MAX_ROWS, "- {} more")] if rows else []


def _failures_of(outcomes: Iterable[GroupOutcome]) -> list[str]:
    failures = [failure for outcome in outcomes if outcome.report for failure in outcome.report.failures]
    lines = []
    for failure in failures[:MAX_FAILURES]:  # the output of foreign code is fenced
        lines += ["", f"### `{failure.id}`: {failure.stage} failed", "", *fenced(failure.tail)]
    if len(failures) > MAX_FAILURES:
        lines += ["", f"{len(failures) - MAX_FAILURES} more failed; their logs are in the artifacts."]
    return lines[1:]


def _first(rows: Sequence[str], most: int, more: str = "{} more") -> list[str]:
    """Return the first rows, and how many more there are."""
    return [*rows[:most], *([more.format(len(rows) - most)] if len(rows) > most else [])]
