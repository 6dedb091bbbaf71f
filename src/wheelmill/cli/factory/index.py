"""``wheelmill index``: the static package index, and whether one keeps the rules of the simple API."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.factory.index_build import build
from wheelmill.cli.factory.index_check import check
from wheelmill.cli.factory.inputs import needs_botocore
from wheelmill.cli.shared.output import say
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import UsageError
from wheelmill.index.serve import project_lists_below, root_of, serve_folder
from wheelmill.system.progress import SYSTEM_CLOCK

app = typer.Typer(no_args_is_help=True, help="Generate, serve and check static package indexes.")
app.command()(check)
app.command()(build)


@app.command()
def upload(
    site: Annotated[Path, typer.Argument(help="A site, as 'index build' writes it.", metavar="DIR", exists=True)],
    place: Annotated[str, typer.Argument(help="The bucket, and the prefix of its keys.", metavar="s3:BUCKET/PREFIX")],
) -> None:
    """Send a site to a bucket, with the types and cache headers of its files, and remove what it no longer has."""
    kind, _, name = place.partition(":")
    if kind != "s3":
        raise UsageError("place-invalid", f"expected s3:BUCKET/PREFIX, not {place!r}")
    with needs_botocore():
        from wheelmill.hosting.upload import upload_site  # noqa: PLC0415 - needs the s3 extra
        from wheelmill.release.s3 import Bucket  # noqa: PLC0415 - the same
    bucket = Bucket.parse(name, SYSTEM_CLOCK)
    bucket.check_credentials()
    with progress() as shown:
        outcome = upload_site(site, bucket, shown)
    say(f"{bucket}: {outcome}")


@app.command()
def serve(
    directory: Annotated[
        Path,
        typer.Argument(help="A site, or the output folder of 'wheelmill run'.", metavar="DIR", exists=True),
    ],
    *,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", metavar="N", min=0, max=65535)] = 8000,
) -> None:
    """Serve a site on 127.0.0.1 until interrupted: pages as JSON to clients that want it, as HTML to all others."""
    lists = project_lists_below(directory)
    root = root_of(directory)
    with serve_folder(root, port, negotiate=True) as url:
        for path in lists:
            say(f"{url}{path.relative_to(root).as_posix()}/")
        say("stop with Ctrl-C")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
