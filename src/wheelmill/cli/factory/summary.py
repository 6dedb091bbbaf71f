"""``wheelmill summary``: the results of a run of many jobs."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.inputs import DEFAULT_STORE, ConfigOption, PlaceOptions, StoreOption, config_at, store_at
from wheelmill.cli.shared.commands import JsonOption, print_json, say_warning
from wheelmill.cli.shared.options import of_a_run, with_groups
from wheelmill.pipeline.chain import end_run, known_failures_in
from wheelmill.pipeline.summary import Published, Summary, refused_in, summary_of
from wheelmill.pipeline.summary_text import RunText, markdown_of, notice_of
from wheelmill.release.ledger.releases import published
from wheelmill.system.git import pushed_tag

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import SummaryContent


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Run that the summary ends."""

    run: Annotated[
        str | None,
        typer.Option(
            help="Free the claims of this run in the ledger, and record what it leaves.",
            metavar="N",
            callback=of_a_run,
        ),
    ] = None
    store: StoreOption = DEFAULT_STORE
    config: ConfigOption = None
    releases: Annotated[
        Path | None, typer.Option(help="Folder of files, each from 'release --json'.", metavar="DIR", file_okay=False)
    ] = None
    index: Annotated[
        str, typer.Option(help="How the index ended: success, failure, cancelled, skipped.", metavar="RESULT")
    ] = "success"


@with_groups
def summary(
    reports: Annotated[Path, typer.Argument(help="Folder of GROUP.json files, each from 'run --json'.", metavar="DIR")],
    *,
    plan: Annotated[Path, typer.Option(help="What 'plan --matrix' printed.", metavar="FILE", exists=True)],
    ending: RunOptions,
    where: PlaceOptions,
    markdown: Annotated[
        Path | None, typer.Option(help="Append the Markdown to this file.", metavar="FILE", dir_okay=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Summarise the jobs of a plan in Markdown: what they built, what failed and how, and what is left."""
    if ending.run:
        summary, run = _end_run(ending.run, ending, where, plan, reports)
    else:
        summary, run = summary_of(plan, reports), None
    text = markdown_of(summary, run)
    if markdown:
        with markdown.open("a") as file:
            file.write(text)
    if as_json:
        content: SummaryContent = {
            "schema": "wheelmill.summary/1",
            "done": summary.groups("done"),
            "failed": summary.groups("failed", "refused", "lost"),
            "again": summary.again,
        }
        if run:
            content |= {"goes_on": run.end.goes_on, "continues": run.end.continued, "notice": notice_of(summary, run)}
        print_json(content)
    elif not markdown:
        typer.echo(text, nl=False)


def _end_run(run: str, options: RunOptions, where: PlaceOptions, plan: Path, reports: Path) -> tuple[Summary, RunText]:
    """Compare the reports with published wheels, and end the run in the ledger."""
    configuration = config_at(options.config)
    releases = store_at(options.store)
    builder = where.builder(configuration)
    state = published(releases, say_warning)
    record = state.work.runs.get(run)
    known = Published(
        wheels=state.published,
        unreleased=record.unreleased if record else {},
        refused=tuple(refused_in(options.releases)) if options.releases else (),
    )
    summary = summary_of(plan, reports, known)
    now = datetime.now(UTC).replace(microsecond=0)
    failures = known_failures_in(
        summary.outcomes, configuration, builder.place, where.resolve_policy(), now=now, run=_address_of(run)
    )
    outcomes = {outcome.group.group: outcome for outcome in summary.outcomes}
    end = end_run(releases.ledger, run, outcomes, failures, listed=options.index in {"success", "skipped"})
    tag = pushed_tag()
    again = ["gh", "workflow", "run", "wheels.yml", *(["--ref", tag] if tag else []), "-f", f"continues={run}"]
    return summary, RunText(end=end, index=options.index, again=shlex.join(again))


def _address_of(run: str) -> str | None:
    """Return the address of a run's logs, by variables as in `pushed_tag`; None outside of GitHub."""
    server, repository = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY"))
    return f"{server}/{repository}/actions/runs/{run}" if server and repository else None
