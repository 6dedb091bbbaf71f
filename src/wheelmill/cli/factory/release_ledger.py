"""``wheelmill release ledger``: what the ledger of a store says, and how it is made again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.inputs import StoreOption, store_at
from wheelmill.cli.shared.output import JsonOption, print_json, say_warning
from wheelmill.errors import FindingsError
from wheelmill.release.ledger.records import LedgerState
from wheelmill.release.ledger.releases import published, rebuild
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import ReleaseLedger


def ledger(
    *,
    store: StoreOption,
    again: Annotated[
        bool, typer.Option("--rebuild", help="Make it again from the existing tags and manifests.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what the ledger says about releases, failed builds and work in progress. Exits with 9 on findings."""
    findings: list[str] = []
    releases = store_at(store, must_exist=True)
    if again:
        releases.check_can_publish()
    state = (rebuild if again else published)(releases, findings.append)
    if as_json:
        print_json(_content(state, findings))
    else:
        _show(state)
    for finding in findings:
        say_warning(finding)
    if findings:
        raise typer.Exit(FindingsError.exit_code)


def _content(state: LedgerState, findings: list[str]) -> ReleaseLedger:
    return {
        "schema": "wheelmill.release-ledger/1",
        "releases": [
            {
                "tag": release.tag,
                "published_at": release.published_at.isoformat(),
                "manifest": release.manifest,
                "wheels": [wheel.filename for wheel in release.wheels],
            }
            for release in state.releases.values()
        ],
        "failures": [
            {"id": failure.id, "failed_at": failure.failed_at.isoformat(), "reason": failure.reason}
            for failure in state.failures.values()
        ],
        "claims": {group: claim.run for group, claim in state.work.claims.items()},
        "leases": {what: lease.since.isoformat() for what, lease in state.work.leases.items()},
        "downloads": {
            str(count.day): {str(project): number for project, number in count.projects.items()}
            for count in state.downloads
        },
        "changes": sum(each.count for each in state.work.changes),
        "findings": findings,
    }


def _show(state: LedgerState) -> None:
    wheels = sum(len(release.wheels) for release in state.releases.values())
    typer.echo(f"{number_of(len(state.releases), 'release')} with {number_of(wheels, 'wheel')}")
    for failure in state.failures.values():
        typer.echo(f"{failure.id} failed on {failure.failed_at:%Y-%m-%d}: {failure.reason}")
    for run, groups in Counter(claim.run for claim in state.work.claims.values()).items():
        typer.echo(f"run {run} builds {number_of(groups, 'group')}")
    for what, lease in state.work.leases.items():
        typer.echo(f"a publication of {what:.12} goes on since {lease.since:%Y-%m-%d %H:%M} UTC")
    typer.echo(f"changes in the last hour: {sum(each.count for each in state.work.changes)}")
