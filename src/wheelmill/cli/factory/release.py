"""``wheelmill release``: tested wheels into a release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.filters import read_values
from wheelmill.cli.factory.inputs import ConfigOption, RequiredSignerOption, StoreOption, config_at, store_at
from wheelmill.cli.shared.options import signer_of, with_groups
from wheelmill.cli.shared.output import say
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import ReleaseError
from wheelmill.names import Platform
from wheelmill.release.store import RefusedWheel
from wheelmill.smoke.verdict import GPU_SUFFIX

if TYPE_CHECKING:
    from wheelmill.pipeline import Gate, GpuTrials


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What a wheel must be to be released."""

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
            help="Only wheels for this platform, or for others, that passed 'wheelmill smoke --gpu'.",
            metavar="PLATFORM",
            envvar="WHEELMILL_REQUIRE_GPU",
        ),
    ] = None

    def gate(self, directory: Path, max_size: int | None) -> Gate:
        """Make the gate for delivered wheels.

        Args:
            directory: the folder that the wheels and their attestations are in.
            max_size: bytes that a wheel must stay under; None sets no limit.
        """
        from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

        signer = signer_of(self.require_attestation)
        return pipeline.Gate(
            targets=pipeline.read_plan(self.plan).targets(config_at(self.config)) if self.plan else None,
            attested=pipeline.attested_in(directory, signer) if signer else None,
            tried=self._trials(directory),
            max_size=max_size,
        )

    def _trials(self, directory: Path) -> GpuTrials | None:
        """What a machine with a GPU left of delivered wheels, if that is asked for.

        Raises:
            UsageError: the platform is none.
        """
        from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

        platforms = read_values("--require-gpu", [self.require_gpu or ""], Platform.parse)
        paths = sorted(directory.rglob(f"*{GPU_SUFFIX}"))
        return pipeline.GpuTrials(platform=platforms[0], paths=paths) if platforms else None


@with_groups
def release(
    directory: Annotated[
        Path, typer.Argument(help="Folder of tested wheels.", metavar="DIR", exists=True, file_okay=False)
    ],
    *,
    store: StoreOption,
    admission: GateOptions,
    checksums: Annotated[
        Path | None,
        typer.Option(
            help="Publish nothing: write what is to be attested of wheels that may be released, as sha256sum does.",
            metavar="FILE",
        ),
    ] = None,
    manifests: Annotated[
        Path | None,
        typer.Option(help="Gets the checksums of the new manifests, as sha256sum writes them.", metavar="FILE"),
    ] = None,
    attestation: Annotated[
        str | None, typer.Option(help="The address of the attestation of these wheels.", metavar="URL")
    ] = None,
) -> None:
    """Publish the wheels of a folder that no release has yet, under a new date tag; each is examined once more."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    releases = store_at(store)
    gate = admission.gate(directory, releases.quotas.asset)
    if checksums:
        admitted, refusals = gate.admit(pipeline.delivered_in(directory, "whl"))
        pipeline.write_wheel_checksums(checksums, admitted)
        _raise_for(refusals, "refused:")
        return
    with progress() as shown:
        done = pipeline.release_folder(directory, releases, gate, attestation=attestation or None, progress=shown)
    for manifest in done.releases:
        say(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if manifests:
        pipeline.write_manifest_checksums(manifests, done.releases)
    _raise_for(done.refusals, "not released:")
    if not done.releases:
        say("nothing to release: every wheel is published already")


def _raise_for(refusals: Iterable[RefusedWheel], heading: str) -> None:
    if lines := [f"{refusal.filename} {refusal.reason}" for refusal in refusals]:
        raise ReleaseError("\n".join((heading, *lines)))
