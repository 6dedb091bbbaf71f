"""``wheelmill release``: tested wheels into a release, and the ledger, downloads and variant wheels of a store."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.filters import read_values
from wheelmill.cli.factory.inputs import ConfigOption, StoreOption, config_at, store_at, tell
from wheelmill.cli.factory.release_publish import publish
from wheelmill.cli.shared.commands import CommandsWithDefault, JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import FindingsError, UsageError
from wheelmill.names import project_name
from wheelmill.release.ledger.records import CountsDownloads, DownloadCount, LedgerState, of_projects, with_count
from wheelmill.release.ledger.releases import published, rebuild
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import ReleaseDownloads, ReleaseLedger


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


def downloads(*, store: StoreOption, as_json: JsonOption = False) -> None:
    """Ask how often each package was downloaded, and keep that in the ledger, for the pictures of the index."""
    releases = store_at(store, must_exist=True)
    if not isinstance(releases, CountsDownloads):
        raise UsageError("downloads-not-counted", f"{store} does not count downloads", hint="github:OWNER/REPO does")
    releases.check_can_publish()
    count = DownloadCount(day=datetime.now(UTC).date(), projects=of_projects(releases.downloads()))
    releases.ledger.change(f"downloads until {count.day}", lambda state: with_count(state, count))
    if as_json:
        content: ReleaseDownloads = {
            "schema": "wheelmill.release-downloads/1",
            "day": str(count.day),
            "projects": {str(project): number for project, number in count.projects.items()},
        }
        print_json(content)
        return
    for project, number in sorted(count.projects.items(), key=lambda each: (-each[1], each[0])):
        typer.echo(f"{number:>12,}  {project}")


def variants(
    projects: Annotated[
        list[str] | None,
        typer.Argument(
            help="Packages; those with 'variants: true' in packages.yml by default.", metavar="[PROJECT...]"
        ),
    ] = None,
    *,
    store: StoreOption,
    to: Annotated[
        str,
        typer.Option(
            help="The store that gets the variant wheels, of the same forms as --store; keep it for them alone.",
            metavar="STORE",
        ),
    ],
    config: ConfigOption = None,
) -> None:
    """Release published wheels as variant wheels, too. Experimental: PEP 825 and PEP 850 are drafts."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    wanted = read_values("PROJECT", projects or (), project_name) or [
        name for name, package in config_at(config).packages.items() if package.variants
    ]
    if not wanted:
        raise UsageError(
            "no-variants-wanted", "no package of packages.yml has variants: true", hint="add that, or name packages"
        )
    with progress() as shown:
        done = pipeline.publish_variants(
            store_at(store), store_at(to, option="--to"), wanted, progress=shown, warn=say_warning
        )
    tell(done)


class ReleaseCommands(CommandsWithDefault):
    """Publishing, and what there is beside it."""

    default = "publish"


app = typer.Typer(
    cls=ReleaseCommands,
    help="Publish tested wheels under a new date tag; 'publish' may be left out.",
    no_args_is_help=True,
)
app.command()(publish)
app.command()(ledger)
app.command()(downloads)
app.command()(variants)


@app.command()
def drafts(
    store: StoreOption,
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove those older than a day, unless somebody is publishing now.")
    ] = False,
) -> None:
    """List what interrupted publications left, with its age: drafts, or a bucket's wheels that no release names."""
    releases = store_at(store)
    with progress() as shown:
        left = releases.left_drafts(remove=remove, progress=shown)
    for draft in left:
        age = f"{number_of(draft.age.days, 'day')} old"
        say(f"{draft.name}: {number_of(draft.files, 'file')}, {age}{', removed' if draft.removed else ''}")
    if not left:
        say("no drafts are left")
