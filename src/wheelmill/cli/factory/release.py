"""``wheelmill release``: tested wheels into a release, and the ledger, downloads and variant wheels of a store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.inputs import (
    ConfigOption,
    RequiredSignerOption,
    StoreOption,
    artifacts_of,
    config_at,
    raise_for,
    read_values,
    report_publication,
    store_at,
)
from wheelmill.cli.shared.commands import CommandsWithDefault, JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import of_a_size, signer_of, with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import FindingsError, UsageError
from wheelmill.names import Platform, project_name
from wheelmill.release.ledger.records import CountsDownloads, DownloadCount, LedgerState, of_projects, with_count
from wheelmill.release.ledger.releases import published, rebuild
from wheelmill.smoke.verdict import GPU_SUFFIX
from wheelmill.system.progress import number_of
from wheelmill.system.records import read_record

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import Release, ReleaseDownloads, ReleaseLedger
    from wheelmill.pipeline.attested import Delivery
    from wheelmill.pipeline.gate import Gate
    from wheelmill.pipeline.matrix_plan import MatrixPlan


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Conditions for a release of wheels."""

    plan: Annotated[
        Path | None,
        typer.Option(
            help="What 'plan --matrix' printed: wheels that differ from it are refused.",
            metavar="FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None
    config: ConfigOption = None
    require_attestation: RequiredSignerOption = None
    require_gpu: Annotated[
        str | None,
        typer.Option(
            help="Release wheels for this platform only if they passed 'wheelmill smoke --gpu'.",
            metavar="PLATFORM",
            envvar="WHEELMILL_REQUIRE_GPU",
        ),
    ] = None
    gpu_certificates: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the certificates of the GPU machine; by default that of the wheels.",
            metavar="DIR",
        ),
    ] = None

    def gate(self, directory: Path, planned: MatrixPlan | None, max_size: int | None) -> Gate:
        """Make the gate for wheels and attestations in a folder; without a plan, they agree with themselves alone."""
        from wheelmill.pipeline.attested import attested_in  # needs the factory extra
        from wheelmill.pipeline.gate import Gate, GpuTrials

        signer = signer_of(self.require_attestation)
        platforms = read_values("--require-gpu", [self.require_gpu or ""], Platform.parse)
        # A job that builds wheels could deliver certificates of a GPU with them, so jobs name the folder of the others.
        certificates = sorted((self.gpu_certificates or directory).rglob(f"*{GPU_SUFFIX}"))
        return Gate(
            targets=planned.targets(config_at(self.config)) if planned else None,
            attested=attested_in(directory, signer) if signer else None,
            tried=GpuTrials(platform=platforms[0], paths=certificates) if platforms else None,
            max_size=max_size,
        )


@dataclass(frozen=True, kw_only=True)
class PublicationOptions:
    """Run whose wheels are released, time limit, and files to write."""

    run: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of a folder: release the wheels of this run's jobs, group by group, and of the earlier runs"
            " that the plan names.",
            metavar="ID",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="After these minutes, publish what has arrived, leave the rest and exit with 3.",
            metavar="N",
            min=0,
            callback=of_a_size,
        ),
    ] = None
    checksums: Annotated[
        Path | None,
        typer.Option(
            help="Publish nothing; write the checksums of the releasable wheels to this file, to be attested.",
            metavar="FILE",
        ),
    ] = None
    manifests: Annotated[
        Path | None,
        typer.Option(help="Write the checksums of the new manifests to this file, as sha256sum does.", metavar="FILE"),
    ] = None
    attestation: Annotated[
        str | None, typer.Option(help="The address of the attestation of these wheels.", metavar="URL")
    ] = None

    def check_source(self, directory: Path | None, planned: MatrixPlan | None) -> None:
        """Check that wheels come from exactly one place."""
        if bool(directory) == bool(self.run):
            raise UsageError("nothing-named", "name a folder of wheels, or a run with --run ID")
        if self.run and (planned is None or self.checksums):
            raise UsageError(
                "option-needs-other",
                "--run needs --plan FILE, which names its groups, and does not go with --checksums",
            )


@with_groups
def publish(
    directory: Annotated[
        Path | None, typer.Argument(help="Folder of tested wheels.", metavar="[DIR]", exists=True, file_okay=False)
    ] = None,
    *,
    store: StoreOption,
    admission: GateOptions,
    options: PublicationOptions,
    as_json: JsonOption = False,
) -> None:
    """Publish the wheels that no release has yet, under a new date tag; each is examined once more."""
    from wheelmill.pipeline import attested, gate  # needs the factory extra
    from wheelmill.pipeline.matrix_plan import MatrixPlan

    releases = store_at(store)
    planned = read_record(admission.plan, MatrixPlan) if admission.plan else None
    until = None if options.time_limit is None else time.time() + options.time_limit * 60

    def gate_of(folder: Path, group: MatrixPlan | None) -> Gate:
        return admission.gate(folder, group, releases.quotas.asset)

    options.check_source(directory, planned)
    if directory and options.checksums:
        admitted, refusals = gate_of(directory, planned).admit(gate.delivered_in(directory, "whl"))
        attested.write_wheel_checksums(options.checksums, admitted)
        raise_for(refusals, "refused:")
        return
    with progress() as shown:
        deliveries: Iterable[Delivery] = ()
        if directory:
            deliveries = [attested.Delivery(folder=directory, gate=gate_of(directory, planned))]
        elif options.run and planned:
            earlier = dict.fromkeys(group.run for group in planned.groups if group.run)
            artifacts = artifacts_of([*earlier, *options.run])
            deliveries = attested.deliveries_of_runs(artifacts, planned, gate_of, shown)
        done = attested.release_deliveries(
            deliveries, releases, attestation=options.attestation or None, progress=shown, until=until
        )
    if as_json:
        tags: list[str] = [manifest.tag for manifest in done.releases]
        content: Release = {"schema": "wheelmill.release/1", "tags": tags, "refused": done.refusals}
        print_json(content)
    if options.manifests:
        attested.write_manifest_checksums(options.manifests, done.releases)
    report_publication(done)


def ledger(
    *,
    store: StoreOption,
    again: Annotated[bool, typer.Option("--rebuild", help="Rebuild it from the existing tags and manifests.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the releases, failed builds and work in progress in the ledger. Exits with 9 on findings."""
    findings: list[str] = []
    releases = store_at(store, must_exist=True)
    if again:
        releases.check_can_publish()
    state = (rebuild if again else published)(releases, findings.append)
    if as_json:
        print_json(_content(state, findings))
    else:
        wheels = sum(len(release.wheels) for release in state.releases.values())
        typer.echo(f"{number_of(len(state.releases), 'release')} with {number_of(wheels, 'wheel')}")
        for failure in state.failures.values():
            typer.echo(f"{failure.id} failed on {failure.failed_at:%Y-%m-%d}: {failure.reason}")
        for run, groups in Counter(claim.run for claim in state.work.claims.values()).items():
            typer.echo(f"run {run} builds {number_of(groups, 'group')}")
        for what, lease in state.work.leases.items():
            typer.echo(f"a publication of {what:.12} goes on since {lease.since:%Y-%m-%d %H:%M} UTC")
        typer.echo(f"changes in the last hour: {sum(change.count for change in state.work.changes)}")
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
        "changes": sum(change.count for change in state.work.changes),
        "findings": findings,
    }


def downloads(*, store: StoreOption, as_json: JsonOption = False) -> None:
    """Record the download count of each package in the ledger, for the charts of the index."""
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
    from wheelmill.pipeline.variants import publish_variants  # needs the factory extra

    wanted = read_values("PROJECT", projects or (), project_name) or [
        name for name, package in config_at(config).packages.items() if package.variants
    ]
    if not wanted:
        raise UsageError(
            "no-variants-wanted", "no package of packages.yml has variants: true", hint="add that, or name packages"
        )
    with progress() as shown:
        done = publish_variants(store_at(store), store_at(to, option="--to"), wanted, progress=shown, warn=say_warning)
    report_publication(done)


class ReleaseCommands(CommandsWithDefault):
    """Commands on releases; ``publish`` may be left out."""

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
        bool, typer.Option("--remove", help="Remove those older than a day, unless a publication is running.")
    ] = False,
) -> None:
    """List leftovers of interrupted publications, with their age: drafts, and wheels in a bucket without a release."""
    releases = store_at(store)
    with progress() as shown:
        left = releases.orphans(remove=remove, progress=shown)
    for draft in left:
        age = f"{number_of(draft.age.days, 'day')} old"
        say(f"{draft.name}: {number_of(draft.files, 'file')}, {age}{', removed' if draft.removed else ''}")
    if not left:
        say("no drafts are left")
