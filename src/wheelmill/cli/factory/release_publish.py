"""``wheelmill release publish``: what may be released, and its release."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.filters import read_values
from wheelmill.cli.factory.inputs import (
    ConfigOption,
    RequiredSignerOption,
    StoreOption,
    artifacts_of,
    config_at,
    raise_for,
    store_at,
    tell,
)
from wheelmill.cli.shared.commands import JsonOption, plain, print_json
from wheelmill.cli.shared.options import of_a_size, signer_of, with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import UsageError
from wheelmill.names import Platform
from wheelmill.smoke.verdict import GPU_SUFFIX

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import Release
    from wheelmill.pipeline import Delivery, Gate, GpuTrials, MatrixPlan


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The options that say which wheels may be released."""

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

    def gate(self, directory: Path, planned: MatrixPlan | None, max_size: int | None) -> Gate:
        """Make the gate for delivered wheels.

        Args:
            directory: the folder that the wheels and their attestations are in.
            planned: what was to be delivered; None asks only that a wheel agrees with itself.
            max_size: bytes that a wheel must stay under; None sets no limit.
        """
        from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

        signer = signer_of(self.require_attestation)
        return pipeline.Gate(
            targets=planned.targets(config_at(self.config)) if planned else None,
            attested=pipeline.attested_in(directory, signer) if signer else None,
            tried=self._trials(directory),
            max_size=max_size,
        )

    def _trials(self, directory: Path) -> GpuTrials | None:
        """The certificates of a machine with a GPU for delivered wheels, if they are required.

        Raises:
            UsageError: the platform is none.
        """
        from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

        platforms = read_values("--require-gpu", [self.require_gpu or ""], Platform.parse)
        paths = sorted(directory.rglob(f"*{GPU_SUFFIX}"))
        return pipeline.GpuTrials(platform=platforms[0], paths=paths) if platforms else None


@dataclass(frozen=True, kw_only=True)
class PublicationOptions:
    """The options that say where else wheels come from, how long it may take, and what files are written."""

    run: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of a folder: release what the jobs of this run built, group by group, and those of earlier "
            "runs that the plan names.",
            metavar="ID",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="After these minutes publish what has arrived, leave the rest and exit with 3.",
            metavar="N",
            min=0,
            callback=of_a_size,
        ),
    ] = None
    checksums: Annotated[
        Path | None,
        typer.Option(
            help="Publish nothing; write checksums of the wheels that may be released, to be attested, to this file.",
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
        """Check that wheels come from exactly one place.

        Raises:
            UsageError: there is none, or two, or one that lacks something.
        """
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
        Path | None,
        typer.Argument(help="Folder of tested wheels.", metavar="[DIR]", exists=True, file_okay=False),
    ] = None,
    *,
    store: StoreOption,
    admission: GateOptions,
    options: PublicationOptions,
    as_json: JsonOption = False,
) -> None:
    """Publish the wheels that no release has yet, under a new date tag; each is examined once more."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    releases = store_at(store)
    planned = pipeline.read_plan(admission.plan) if admission.plan else None
    until = None if options.time_limit is None else time.time() + options.time_limit * 60

    def gate_of(folder: Path, group: MatrixPlan | None) -> Gate:
        return admission.gate(folder, group, releases.quotas.asset)

    options.check_source(directory, planned)
    if directory and options.checksums:
        admitted, refusals = gate_of(directory, planned).admit(pipeline.delivered_in(directory, "whl"))
        pipeline.write_wheel_checksums(options.checksums, admitted)
        raise_for(refusals, "refused:")
        return
    with progress() as shown:
        deliveries: Iterable[Delivery] = ()
        if directory:
            deliveries = [pipeline.Delivery(folder=directory, gate=gate_of(directory, planned))]
        elif options.run and planned:
            earlier = dict.fromkeys(group.run for group in planned.groups if group.run)
            artifacts = artifacts_of([*earlier, *options.run])
            deliveries = pipeline.deliveries_of_runs(artifacts, planned, gate_of, shown)
        done = pipeline.release_deliveries(
            deliveries, releases, attestation=options.attestation or None, progress=shown, until=until
        )
    if as_json:
        tags: list[str] = [manifest.tag for manifest in done.releases]
        content: Release = {"schema": "wheelmill.release/1", "tags": tags, "refused": plain(done.refusals)}
        print_json(content)
    if options.manifests:
        pipeline.write_manifest_checksums(options.manifests, done.releases)
    tell(done)
