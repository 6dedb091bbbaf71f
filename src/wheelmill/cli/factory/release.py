"""``wheelmill release``: tested wheels into a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.inputs import ConfigOption, StoreOption, config_at, store_at
from wheelmill.cli.shared.terminal import STDERR, progress
from wheelmill.errors import ReleaseError


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
    check: Annotated[bool, typer.Option("--check", help="Only examine the wheels: nothing is published.")] = False,
    attestation: Annotated[
        str | None, typer.Option(help="The address of the attestation of these wheels.", metavar="URL")
    ] = None,
) -> None:
    """Publish the wheels of a folder that no release has yet, under a new date tag; each is examined once more."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    releases = store_at(store)
    targets = pipeline.read_plan(plan).targets(config_at(config)) if plan else None
    gate = pipeline.Gate(targets=targets, max_size=releases.quotas.asset)
    with progress() as shown:
        publication = pipeline.release_folder(
            directory, releases, gate, publishes=not check, attestation=attestation or None, progress=shown
        )
    for manifest in publication.releases:
        STDERR.print(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if publication.refusals:
        refused = (f"{refusal.filename} {refusal.reason}" for refusal in publication.refusals)
        raise ReleaseError("\n".join(("not released:", *refused)))
    if check:
        STDERR.print("every wheel may be released")
    elif not publication.releases:
        STDERR.print("nothing to release: every wheel is published already")
