"""A plan as people read it: a line a package, or all of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich.markup import escape
from rich.table import Table

from wheelmill.cli.shared.output import say
from wheelmill.cli.shared.terminal import STDOUT
from wheelmill.names import ProjectName, TorchVersion
from wheelmill.plan.groups import GUESSED_SECONDS, Basis, Estimate, estimate, groups_of
from wheelmill.plan.targets import BuildTarget, Filters, Obstacle, PastBuilds, Plan, Skip
from wheelmill.system.progress import number_of

_REASONS: Final = 3
"""How many reasons of a package stand in its line in full; more of them are put together by their kinds."""

_EXPLAINED: Final = 12
"""How many packages have their reasons in their lines; those of more are put together below them, to fit a screen."""

_BASES: Final[Mapping[Basis, tuple[str, str]]] = {
    Basis.MEASURED: ("", "as published wheels took"),
    Basis.PRIOR: ("~", "by 'seconds' in their entries"),
    Basis.GUESS: ("?", f"guessed: {GUESSED_SECONDS} seconds for each GPU architecture"),
}
"""How hours are marked, and what is said of them."""


def print_plan(planned: Plan, past: PastBuilds, cost: Estimate, *, wheels: bool, skips: bool) -> None:
    """Print the tables that were asked for, else a line a package; then the sum of them.

    Args:
        planned: the targets and skips of the tables.
        past: what published wheels of the projects cost, by which the hours are judged.
        cost: what all targets together will cost.
        wheels: whether to list what would be built.
        skips: whether to list the reasons for what would not be built.
    """
    projects = tuple(_by_project(planned))
    explained = len(projects) <= _EXPLAINED
    if not wheels and not skips:
        _print_overview(projects, past, explained=explained)
    if wheels:
        _print_wheels(planned)
    if skips:
        _print_skips(planned)
    why = "" if explained else f" ({_why(planned.skips)})"
    skipped = f"cells skipped: {len(planned.skips):,}{why}"
    STDOUT.print(f"wheels to build: {len(planned.targets):,}, in {number_of(cost.jobs, 'job')}; {skipped}")
    if planned.targets:
        total = f"estimate: {_in_words(cost.machine_hours)} machine hours, done in {_in_words(cost.hours)}"
        size = f", {cost.size / 1e9:,.2f} GB of {number_of(cost.wheels, 'wheel')}" if cost.wheels else ""
        STDOUT.print(f"{total} with {cost.runners:,} at work{size}")
    for basis, share in cost.shares.items():
        if share.wheels:
            mark, words = _BASES[basis]
            counted = number_of(share.wheels, "wheel")
            STDOUT.print(f"  {mark}{_in_words(share.machine_hours)} of them for {counted}, {words}")


def _print_overview(projects: Sequence[tuple[ProjectName, Plan]], past: PastBuilds, *, explained: bool) -> None:
    """Print a line a package: its wheels and what they cost, and why there are no others where few are shown."""
    table = Table(box=None, pad_edge=False)
    for name in ("package", "wheels", "jobs", "hours", "newest torch"):
        table.add_column(name, justify="left" if name == "package" else "right", no_wrap=True)
    if explained:
        table.add_column("why not the others")
    for project, part in projects:
        cost = estimate(part, past)
        marks = [_BASES[basis][0] for basis, share in cost.shares.items() if share.wheels]  # of a project one
        hours = f"{marks[0]}{_in_words(cost.machine_hours)}" if marks else "-"
        counts = (f"{len(part.targets):,}", f"{cost.jobs:,}", hours, _newest_torch(part.targets))
        table.add_row(project, *counts, *([escape(_why(part.skips))] if explained else []))
    STDOUT.print(table)


def _in_words(hours: float) -> str:
    """Hours with one decimal, but never zero."""
    return f"{hours:,.1f}" if hours >= 0.05 else "<0.1"  # noqa: PLR2004 - what would be rounded to 0.0


def _newest_torch(targets: Sequence[BuildTarget]) -> str:
    """The newest torch that wheels of one package are for, or the range of them that each one serves."""
    torches = {target.cell.torch for target in targets}
    releases = [torch for torch in torches if isinstance(torch, TorchVersion)]
    return str(max(releases) if releases else next((torch for torch in torches if torch), "-"))


def _print_wheels(planned: Plan) -> None:
    """Print every wheel that would be built, a line a job."""
    table = Table("project", "version", "Python", "CUDA", "torch", "platform", title="To build", title_justify="left")
    for group in groups_of(planned):
        cell = group.targets[0].cell
        pythons = " ".join(str(target.cell.python) for target in group.targets)
        table.add_row(cell.project, cell.version, pythons, str(cell.cuda), str(cell.torch or "-"), str(cell.platform))
    STDOUT.print(table)


def _print_skips(planned: Plan) -> None:
    """Print why the others would not be built, a line a reason."""
    table = Table("cells", "project", "reason", title="Skipped", title_justify="left")
    for (project, reason), count in Counter((skip.cell.project, skip.reason) for skip in planned.skips).items():
        table.add_row(f"{count:,}", project, escape(reason))
    STDOUT.print(table)


def tell_skips(plan: Plan, filters: Filters) -> None:
    """Say which torch was taken where none was asked for, and what is not built, a line a reason; one for a sample."""
    if not filters.torches:
        labels = {target.cell.label for target in plan.targets}
        for cuda, torch in sorted((label.cuda, label.torch) for label in labels if label.torch):
            say(f"no --torch given: taking {torch} for CUDA {cuda}")
    sampled = {skip.cell.project: skip.reason for skip in plan.skips if skip.obstacle is Obstacle.NOT_SAMPLED}
    reasons = ((skip.cell.project, sampled.get(skip.cell.project, skip.reason)) for skip in plan.skips)
    for (project, reason), count in Counter(reasons).items():
        say(f"skipped {count:,} of {project}: {reason}")
    if not plan.targets:
        say("nothing to build")


def _by_project(planned: Plan) -> Iterator[tuple[ProjectName, Plan]]:
    targets, skips = defaultdict[ProjectName, list[BuildTarget]](list), defaultdict[ProjectName, list[Skip]](list)
    for target in planned.targets:
        targets[target.cell.project].append(target)
    for skip in planned.skips:
        skips[skip.cell.project].append(skip)
    for project in sorted({*targets, *skips}):
        yield project, replace(planned, targets=tuple(targets[project]), skips=tuple(skips[project]))


def _why(skips: Sequence[Skip]) -> str:
    """The reasons of one package, the most frequent first."""
    reasons = Counter(skip.reason for skip in skips)
    if len(reasons) > _REASONS:
        reasons = Counter(skip.obstacle.value for skip in skips)
    return "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common())
