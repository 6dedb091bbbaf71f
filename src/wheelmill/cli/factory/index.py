"""``wheelmill index``: the static package index, and whether one keeps the rules of the simple API."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from wheelmill.cli.factory.index_check import check
from wheelmill.cli.factory.inputs import (
    BASE_URL_VARIABLE,
    ConfigOption,
    RequiredSignerOption,
    StoreOption,
    needs_botocore,
    own_config_at,
    place_at,
    store_at,
)
from wheelmill.cli.shared.options import signer_of
from wheelmill.cli.shared.output import say, say_warning
from wheelmill.cli.shared.terminal import progress
from wheelmill.config.load import load_compatibility, load_listing
from wheelmill.errors import UsageError
from wheelmill.index.serve import project_lists_below, root_of, serve_folder
from wheelmill.index.tree import SOURCES
from wheelmill.release.ledger.records import LedgerState

if TYPE_CHECKING:
    from wheelmill.index.deployed import ReadDeployed
    from wheelmill.pipeline import Mirror

app = typer.Typer(no_args_is_help=True, help="Generate, serve and check static package indexes.")
app.command()(check)


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
            envvar=BASE_URL_VARIABLE,
        ),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            help="A store with copies of the wheels, and the URL above their folders if that differs. Links lead to the"
            " copies where there are some, in the first of several such stores. Repeatable.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_MIRROR",
        ),
    ] = None,
    variants: Annotated[
        str | None,
        typer.Option(
            help="The store that 'release variants' fills, and the URL above its folders if that differs."
            " Experimental: PEP 825 and PEP 850 are drafts.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_VARIANTS",
        ),
    ] = None,
    config: ConfigOption = None,
    previous: Annotated[
        str | None,
        typer.Option(
            help="The current site, a folder, a URL or the Pages of github:OWNER/REPO: links must not change or vanish"
            " without a reason.",
            metavar="SITE",
            envvar="WHEELMILL_PREVIOUS",
        ),
    ] = None,
    site_url: Annotated[
        str | None,
        typer.Option(
            help="Where people will read the site, for its feeds and its list of pages; that of --previous by default.",
            metavar="URL",
            envvar="WHEELMILL_SITE_URL",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            help="A folder with wheelmill's documents as Sphinx renders them, which the site gets below docs/.",
            metavar="DIR",
            envvar="WHEELMILL_DOCS",
        ),
    ] = None,
    require_attestation: RequiredSignerOption = None,
) -> None:
    """Generate the site of all releases in a store."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    if site_url and urlsplit(site_url).scheme not in ("http", "https"):
        raise UsageError(f"expected an http or https URL as --site-url, not {site_url!r}")
    place = _place_of(previous)
    releases = store_at(store, must_exist=True)
    own = own_config_at(config)
    state = releases.ledger.read() if own else LedgerState()
    address = site_url or (place if place and "://" in place else None)
    size = pipeline.build_index(
        releases,
        own.listing if own else load_listing(place_at(config)),
        own.compatibility if own else load_compatibility(place_at(config)),
        base_url=base_url or releases.url_from(output),
        output=output,
        mirrors=[_mirror_at("--mirror", text, output) for text in mirror or ()],
        variants=_mirror_at("--variants", variants, output) if variants else None,
        read_deployed=_deployed_at(place, may_be_new=place != previous),
        signer=signer_of(require_attestation),
        catalogue=pipeline.catalogue_of(own, state.failures, state.downloads) if own else None,
        sources=_sources_in(place_at(config)),
        site_url=address,
        documents=documents,
        on_github_pages=place != previous or (urlsplit(address or "").hostname or "").endswith(".github.io"),
        warn=say_warning,
    )
    say(f"{output}: {size}")


def _mirror_at(option: str, text: str, site: Path) -> Mirror:
    """Open a store that a site names beside its own."""
    from wheelmill.pipeline import Mirror  # noqa: PLC0415 - needs the factory extra

    name, _, url = text.partition("=")
    store = store_at(name, option=option, must_exist=True)
    return Mirror(store=store, base_url=url or store.url_from(site))


def _place_of(previous: str | None) -> str | None:
    """The folder or the URL of the current site; None where there is none.

    Args:
        previous: the site, as `build` takes it.
    """
    kind, _, name = (previous or "").partition(":")
    if kind != "github":
        return previous
    from wheelmill.hosting.pages import find_site  # noqa: PLC0415 - needs the factory extra
    from wheelmill.release.github import Repository  # noqa: PLC0415

    site = find_site(Repository.parse(name, os.environ))
    if site is None:
        say(f"{name} has no site on GitHub Pages yet: nothing is compared with it")
    return site


def _deployed_at(place: str | None, *, may_be_new: bool) -> ReadDeployed:
    """What reads the current site, once nobody else writes the new one.

    Args:
        place: its folder or URL.
        may_be_new: whether it may be that nothing is there yet.
    """
    from wheelmill.index.deployed import Deployed, deployed_wheels  # noqa: PLC0415 - only for building

    if place is None:
        return lambda _read: Deployed()
    return partial(deployed_wheels, place, none_yet=say if may_be_new else None)


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
def upload(
    site: Annotated[Path, typer.Argument(help="A site, as 'index build' writes it.", metavar="DIR", exists=True)],
    place: Annotated[str, typer.Argument(help="The bucket, and the prefix of its keys.", metavar="s3:BUCKET/PREFIX")],
) -> None:
    """Send a site to a bucket, with the types and cache headers of its files, and remove what it no longer has."""
    kind, _, name = place.partition(":")
    if kind != "s3":
        raise UsageError(f"expected s3:BUCKET/PREFIX, not {place!r}")
    with needs_botocore():
        from wheelmill.hosting.upload import upload_site  # noqa: PLC0415 - needs the s3 extra
        from wheelmill.release.s3 import Bucket  # noqa: PLC0415 - the same
    bucket = Bucket.parse(name)
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
