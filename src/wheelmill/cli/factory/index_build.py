"""``wheelmill index build``: the site of all releases."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from wheelmill.cli.factory.inputs import (
    BASE_URL_VARIABLE,
    ConfigOption,
    RequiredSignerOption,
    StoreOption,
    own_config_at,
    place_at,
    store_at,
)
from wheelmill.cli.shared.commands import say, say_warning
from wheelmill.cli.shared.options import signer_of, with_groups
from wheelmill.cli.shared.terminal import progress
from wheelmill.config.load import load_compatibility, load_listing
from wheelmill.errors import UsageError
from wheelmill.index.tree import SOURCES
from wheelmill.release.ledger.records import LedgerState
from wheelmill.system.progress import SYSTEM_CLOCK

if TYPE_CHECKING:
    from wheelmill.index.deployed import ReadDeployed
    from wheelmill.pipeline import Mirror


@dataclass(frozen=True, kw_only=True)
class WheelPlaces:
    """Where the wheels of a site are, beside its store."""

    base_url: Annotated[
        str | None,
        typer.Option(
            help="The URL above the releases' folders, or a path relative to the site; that of the store by default.",
            metavar="URL",
            envvar=BASE_URL_VARIABLE,
        ),
    ] = None
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            help="A store with copies of the wheels, and the URL above their folders if that differs. Links lead to the"
            " copies where there are some, in the first of several such stores. Repeatable.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_MIRROR",
        ),
    ] = None
    variants: Annotated[
        str | None,
        typer.Option(
            help="The store that 'release variants' fills, and the URL above its folders if that differs."
            " Experimental: PEP 825 and PEP 850 are drafts.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_VARIANTS",
        ),
    ] = None

    def mirrors_of(self, site: Path) -> list[Mirror]:
        """Open the stores with copies of the wheels."""
        return [_mirror_at("--mirror", text, site) for text in self.mirror or ()]

    def variants_of(self, site: Path) -> Mirror | None:
        """Open the store with variant wheels, if one is named."""
        return _mirror_at("--variants", self.variants, site) if self.variants else None


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """What a site was before, where it will be, and what else stands in it."""

    previous: Annotated[
        str | None,
        typer.Option(
            help="The current site, a folder, a URL or the Pages of github:OWNER/REPO: links must not change or vanish"
            " without a reason.",
            metavar="SITE",
            envvar="WHEELMILL_PREVIOUS",
        ),
    ] = None
    site_url: Annotated[
        str | None,
        typer.Option(
            help="Where people will read the site, for its feeds and its list of pages; that of --previous by default.",
            metavar="URL",
            envvar="WHEELMILL_SITE_URL",
        ),
    ] = None
    documents: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            help="A folder with wheelmill's documents as Sphinx renders them, which the site gets below docs/.",
            metavar="DIR",
            envvar="WHEELMILL_DOCS",
        ),
    ] = None

    def check(self) -> None:
        """Refuse what cannot be meant, before a store is asked and pages are made.

        Raises:
            UsageError: the address is none of the web.
            SiteError: the folder has no documents.
        """
        if self.site_url and urlsplit(self.site_url).scheme not in ("http", "https"):
            raise UsageError("site-url-invalid", f"expected an http or https URL as --site-url, not {self.site_url!r}")
        if self.documents:
            from wheelmill.index.site.pages import pages_of_documents  # noqa: PLC0415 - needs the factory extra

            next(pages_of_documents(self.documents))  # which looks at the folder first


@with_groups
def build(
    *,
    store: StoreOption,
    output: Annotated[Path, typer.Option(help="Folder for the site.", metavar="DIR")],
    wheels: WheelPlaces,
    config: ConfigOption = None,
    site: SiteOptions,
    require_attestation: RequiredSignerOption = None,
) -> None:
    """Generate the site of all releases in a store."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    site.check()
    place = _place_of(site.previous)
    releases = store_at(store, must_exist=True)
    own = own_config_at(config)
    state = releases.ledger.read() if own else LedgerState()
    address = site.site_url or (place if place and "://" in place else None)
    stores = pipeline.Stores(
        store=releases,
        base_url=wheels.base_url or releases.url_from(output),
        listing=own.listing if own else load_listing(place_at(config)),
        facts=own.compatibility if own else load_compatibility(place_at(config)),
        mirrors=wheels.mirrors_of(output),
        variants=wheels.variants_of(output),
        read_deployed=_deployed_at(place, may_be_new=place != site.previous),
        signer=signer_of(require_attestation),
    )
    with progress() as shown:
        size = pipeline.build_index(
            stores,
            output,
            catalogue=pipeline.catalogue_of(own, state.failures, state.downloads) if own else None,
            sources=_sources_in(place_at(config)),
            site_url=address,
            documents=site.documents,
            on_github_pages=place != site.previous or (urlsplit(address or "").hostname or "").endswith(".github.io"),
            progress=shown,
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
    from wheelmill.hosting.read import find_site  # noqa: PLC0415 - needs the factory extra
    from wheelmill.release.github import Repository  # noqa: PLC0415

    site = find_site(Repository.parse(name, os.environ), SYSTEM_CLOCK)
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
    return partial(deployed_wheels, place, now=datetime.now(UTC), none_yet=say if may_be_new else None)


def _sources_in(folder: Path) -> bytes | None:
    """The list of sources of a configuration, if it has one.

    Raises:
        ConfigurationError: clients could not read it.
    """
    from wheelmill.client.sources.sources_file import read_sources_file  # noqa: PLC0415

    path = folder / SOURCES
    if not path.exists():
        return None
    read_sources_file(path)
    return path.read_bytes()
