"""``wheelmill release``: tested wheels into a release."""

from __future__ import annotations

from typing import Annotated

import typer

from wheelmill.cli.factory.inputs import StoreOption, store_at
from wheelmill.cli.factory.release_downloads import downloads
from wheelmill.cli.factory.release_ledger import ledger
from wheelmill.cli.factory.release_publish import publish
from wheelmill.cli.factory.release_variants import variants
from wheelmill.cli.shared.commands import CommandsWithDefault
from wheelmill.cli.shared.output import say
from wheelmill.cli.shared.terminal import progress
from wheelmill.system.progress import number_of


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
