"""``wheelmill release``: tested wheels into a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.inputs import ConfigOption, RequiredSignerOption, StoreOption, config_at, store_at
from wheelmill.cli.shared.options import signer_of
from wheelmill.cli.shared.terminal import STDERR, progress
from wheelmill.errors import ReleaseError
from wheelmill.release.manifest import MANIFEST, Manifest
from wheelmill.release.store import RefusedWheel
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.system.record_files import record_bytes


def release(
    directory: Annotated[
        Path, typer.Argument(help="Folder of tested wheels.", metavar="DIR", exists=True, file_okay=False)
    ],
    *,
    store: StoreOption,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="What 'plan --matrix' printed: wheels that differ from it are refused.",
            metavar="FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    config: ConfigOption = None,
    require_attestation: RequiredSignerOption = None,
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
    signer = signer_of(require_attestation)
    gate = pipeline.Gate(
        targets=pipeline.read_plan(plan).targets(config_at(config)) if plan else None,
        attested=pipeline.attested_in(directory, signer) if signer else None,
        max_size=releases.quotas.asset,
    )
    if checksums:
        admitted, refusals = gate.admit(pipeline.delivered_in(directory, "whl"))
        if admitted:
            write_bytes(checksums, pipeline.checksums_of(admitted).encode())
        _raise_for(refusals, "refused:")
        return
    with progress() as shown:
        publication = pipeline.release_folder(
            directory, releases, gate, attestation=attestation or None, progress=shown
        )
    _tell_releases(publication.releases, manifests)
    _raise_for(publication.refusals, "not released:")
    if not publication.releases:
        STDERR.print("nothing to release: every wheel is published already")


def _tell_releases(manifests: Sequence[Manifest], checksums: Path | None) -> None:
    """Name the new releases with their wheels, and write the checksums of their manifests into a file."""
    for manifest in manifests:
        STDERR.print(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if checksums and manifests:
        lines = (f"{sha256_of_bytes(record_bytes(each))}  {each.tag}/{MANIFEST}\n" for each in manifests)
        write_bytes(checksums, "".join(lines).encode())


def _raise_for(refusals: Iterable[RefusedWheel], heading: str) -> None:
    if lines := [f"{refusal.filename} {refusal.reason}" for refusal in refusals]:
        raise ReleaseError("\n".join((heading, *lines)))
