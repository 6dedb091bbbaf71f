"""``wheelmill index``: the static package index."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from wheelmill.cli.factory.index_check import check
from wheelmill.cli.factory.inputs import ConfigOption, StoreOption, folder_at, own_config_at, store_at
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.config.load import load_listing
from wheelmill.index.serve import project_lists_below, root_of, serve_folder
from wheelmill.index.tree import SOURCES

app = typer.Typer(no_args_is_help=True, help="Generate, serve and check static package indexes.")
app.command("check")(check)


@app.command()
def build(
    *,
    store: StoreOption,
    output: Annotated[Path, typer.Option(help="Folder for the site.", metavar="DIR")],
    base_url: Annotated[
        str | None,
        typer.Option(
            help="The URL above the releases' folders, or a path relative to the site; that of the store by default.",
            metavar="URL",
            envvar="WHEELMILL_BASE_URL",
        ),
    ] = None,
    config: ConfigOption = None,
    previous: Annotated[
        str | None,
        typer.Option(
            help="The current site, a folder or URL: links must not change or vanish without a reason.",
            metavar="URL_OR_DIR",
            envvar="WHEELMILL_PREVIOUS",
        ),
    ] = None,
) -> None:
    """Generate the site of all releases in a store."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    releases = store_at(store, must_exist=True)
    own = own_config_at(config)
    size = pipeline.build_index(
        releases,
        own.listing if own else load_listing(folder_at(config)),
        base_url=base_url or releases.url_from(output),
        output=output,
        previous=previous,
        catalogue=pipeline.catalogue_of(own, releases.failures.read()) if own else None,
        sources=_sources_in(folder_at(config)),
    )
    STDERR.print(escape(f"{output}: {size}"))


def _sources_in(folder: Path) -> bytes | None:
    """The list of sources of a configuration, if it has one.

    Raises:
        ConfigurationError: clients could not read it.
    """
    from wheelmill.client.sources.sources_file import read_sources_file  # noqa: PLC0415 - only for building

    path = folder / SOURCES
    if not path.exists():
        return None
    read_sources_file(path)
    return path.read_bytes()


@app.command()
def serve(
    directory: Annotated[
        Path,
        typer.Argument(help="A site, or the output folder of 'wheelmill run'.", metavar="DIR", exists=True),
    ],
    *,
    port: Annotated[int, typer.Option(help="0 takes a free one.", metavar="N", min=0, max=65535)] = 8000,
) -> None:
    """Serve a site on 127.0.0.1 until interrupted."""
    lists = project_lists_below(directory)
    root = root_of(directory)
    with serve_folder(root, port) as url:
        for path in lists:
            STDERR.print(f"{url}{path.relative_to(root).as_posix()}/")
        STDERR.print("stop with Ctrl-C")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
