"""``wheelmill release``: tested wheels into a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.inputs import StoreOption, store_at
from wheelmill.cli.shared.terminal import STDERR, progress
from wheelmill.errors import ReleaseError


def release(
    directory: Annotated[
        Path, typer.Argument(help="Folder of tested wheels.", metavar="DIR", exists=True, file_okay=False)
    ],
    *,
    store: StoreOption,
    attestation: Annotated[
        str | None, typer.Option(help="The address of the attestation of these wheels.", metavar="URL")
    ] = None,
) -> None:
    """Publish the wheels of a folder that no release has yet, under a new date tag."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    with progress() as shown:
        publication = pipeline.release_folder(
            directory, store_at(store), attestation=attestation or None, progress=shown
        )
    for manifest in publication.releases:
        STDERR.print(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if publication.refusals:
        refused = (f"{refusal.filename} {refusal.reason}" for refusal in publication.refusals)
        raise ReleaseError("\n".join(("not released:", *refused)))
    if not publication.releases:
        STDERR.print("nothing to release: every wheel is published already")
