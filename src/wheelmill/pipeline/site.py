"""Site of all releases, with copies of their wheels in mirrors and variants of them."""

from __future__ import annotations

import gc
import posixpath
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

from wheelmill.build.provenance import known_failures
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.config.model.files import Listing
from wheelmill.errors import NetworkError
from wheelmill.index.collect import site_of_releases, unused_entries
from wheelmill.index.deployed import Deployed, ReadDeployed
from wheelmill.index.derived import VariantFile, pages_of_variants, variant_files, with_aliases
from wheelmill.index.render import pages_of, pages_of_hashes, pages_of_sources
from wheelmill.index.site.finder import EMPTY_CATALOGUE
from wheelmill.index.site.pages import site_pages
from wheelmill.index.tree import Catalogue, Site, SiteAddress
from wheelmill.index.write import MAX_BYTES, Page, SiteSize, write_site
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.attested import attested_part, derived_part
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters
from wheelmill.release.ledger.ledger import LedgerSummary
from wheelmill.release.ledger.records import LedgerRelease
from wheelmill.release.ledger.releases import absent_files, every_manifest, published
from wheelmill.release.manifest.record import MANIFEST, ListedRelease, Shared
from wheelmill.release.store import Store
from wheelmill.system.progress import QUIET, Progress, Warn
from wheelmill.wheel.attestation import ATTESTATIONS, Signer
from wheelmill.wheel.gpu_code import CARDS

_REMEDY: Final = f"put its {MANIFEST} back, or name them in removed.yml"


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Store beside that of the wheels, with copies of them under their own names or with their variants."""

    store: Store
    base_url: str
    """URL above the folders of its wheels."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Stores of a site's wheels, and the rules for listing them."""

    store: Store
    base_url: str
    """URL above the folders of the releases; absolute, or relative to the root of the site."""
    listing: Listing
    """Yanked and removed wheels, and the status of projects."""
    facts: Compatibility
    """Torches that are published for each CUDA."""
    mirrors: Sequence[Mirror] = ()
    """Stores with copies of the wheels; links lead to the first one that has a copy."""
    variants: Mirror | None = None
    read_deployed: ReadDeployed = lambda _read: Deployed()
    """Reads the deployed site: no wheel of it may change or vanish, and a release whose manifest cannot be read stays
    listed as it is there."""
    signer: Signer | None = None
    """Required signer of listed wheels; None lists all."""

    def site(self, progress: Progress, warn: Warn) -> Site:
        """Read every release, and list its wheels; for errors and arguments, see `build_index`."""
        known, shared = self.store.ledger.summary().manifests, Shared()
        faulty: dict[ReleaseTag, str] = {}
        read_manifests = every_manifest(self.store, known, warn, faulty.__setitem__)
        manifests = [shared.release(manifest) for manifest in progress.count(read_manifests, "manifests read")]
        read = {manifest.tag for manifest in manifests}
        deployed = self.read_deployed(manifests)
        kept = [manifest for manifest in deployed.unread if self.store.is_published(manifest.tag)]
        for manifest in kept:
            if reason := faulty.pop(manifest.tag, None):
                warn(reason)
            warn(f"{manifest.tag}: its wheels stay listed as they are in the deployed index; {_REMEDY}")
        manifests += kept
        for text in unused_entries(self.listing, manifests, deployed.hashes):
            warn(text)
        absent = _absent_in(self.store, manifests)
        folders = _own_folders(self.store, self.base_url, manifests)
        for mirror in reversed(self.mirrors):
            folders |= _folders_in(mirror.store, mirror.base_url, published(mirror.store, warn).releases.values())
        if self.signer:
            attested = _attested_parts(self.store, manifests, self.signer, warn)
            manifests = list(progress.count(attested, "releases verified"))
        return site_of_releases(
            manifests,
            self.base_url,
            self.listing,
            folders=folders,
            torches=self.facts.torches_of,
            absent=absent,
            faults=[fault for tag in sorted(faulty) for fault in faulty[tag].splitlines()],
            deployed=deployed.hashes or _published_in(known.keys() - read - faulty.keys(), self.store),
        )

    def variant_files(self, site: Site, warn: Warn) -> tuple[VariantFile, ...]:
        """Find the variants of a site's wheels; ``warn`` gets the releases that cannot be read.

        If wheels must be attested, `derived_part` decides which variants are listed.
        """
        if self.variants is None:
            return ()
        store, base_url = self.variants.store, self.variants.base_url
        manifests = [*every_manifest(store, store.ledger.summary().manifests, warn)]
        if self.signer:
            attested = {file.sha256 for files in site.files.values() for file in files}
            manifests = [derived_part(each, store, attested, warn) for each in manifests]
        folders, absent = _own_folders(store, base_url, manifests), _absent_in(store, manifests)
        return variant_files(manifests, base_url, site, folders=folders, absent=absent, warn=warn)


def _own_folders(store: Store, base_url: str, manifests: Iterable[ListedRelease]) -> dict[tuple[str, Sha256], str]:
    """Return the folder of every wheel, if a store keeps wheels outside the folders of their releases."""
    keeps_apart = store.folder_of(Sha256("")) is not None
    return _folders_in(store, base_url, manifests) if keeps_apart else {}


def _folders_in(
    store: Store, base_url: str, releases: Iterable[LedgerRelease | ListedRelease]
) -> dict[tuple[str, Sha256], str]:
    return {
        (wheel.filename, wheel.sha256): posixpath.join(base_url, store.folder_of(wheel.sha256) or release.tag)
        for release in releases
        for wheel in release.wheels
    }


def _absent_in(store: Store, manifests: Iterable[ListedRelease]) -> Mapping[ReleaseTag, Container[str]]:
    """Return the files that releases lack, if the store can list all files at once."""
    return absent_files(store, {each.tag: each for each in manifests}) if store.lists_at_once else {}


def _published_in(unread: Collection[ReleaseTag], store: Store) -> dict[str, Sha256]:
    """Return the wheel hashes in the ledger for releases with unreadable manifests."""
    releases = store.ledger.read().releases if unread else {}
    return {wheel.filename: wheel.sha256 for tag in unread for wheel in releases[tag].wheels}


def _attested_parts(
    store: Store, manifests: Sequence[ListedRelease], signer: Signer, warn: Warn
) -> Iterator[ListedRelease]:
    signed = {each.tag: each for each in manifests if any(entry.attested for entry in each.wheels)}
    yield from (attested_part(each, b"", signer, warn) for each in manifests if each.tag not in signed)
    for tag, bundles in store.read_each(dict.fromkeys(signed), ATTESTATIONS):
        if isinstance(bundles, NetworkError) and bundles.status != HTTPStatus.NOT_FOUND:
            raise bundles
        yield attested_part(signed[tag], bundles if isinstance(bundles, bytes) else b"", signer, warn)


def build_index(
    stores: Stores,
    output: Path,
    *,
    catalogue: Catalogue | None = None,
    sources: bytes | None = None,
    site_url: str | None = None,
    documents: Path | None = None,
    on_github_pages: bool = False,
    progress: Progress = QUIET,
    warn: Warn = lambda _text: None,
) -> SiteSize:
    """Regenerate the site of all releases.

    Pages for people show only what is built if ``catalogue``, the plan, is None. ``sources`` is the ``sources.yml``
    that clients of this site take. ``site_url`` is the address for readers; None if that is not known yet.
    ``documents`` is a folder with wheelmill's documents, rendered by Sphinx, to include.

    A site ``on_github_pages``, which lets no client choose a form, has no JSON pages, and is refused if it is too large
    for GitHub Pages; otherwise ``warn`` gets that. It also gets manifests that cannot be read, and wheels that are not
    listed for lack of an attestation.

    Raises:
        SiteError: with everything that must not be published; the old site stays as it is.
        NetworkError: a release's attestations, or the keys to verify them, cannot be fetched now.
    """
    address = SiteAddress.of(site_url, stores.base_url)

    def pages() -> Iterator[Page]:
        """Yield every page, so that the store is read only while no other process writes the site."""
        site = stores.site(progress, warn)
        aliased = with_aliases(site, catalogue.packages if catalogue else {})
        yield from pages_of(site, aliased.site, root=address.root, as_json=not on_github_pages)
        yield from ((path, [content]) for path, content in aliased.files.items())
        yield from pages_of_hashes(site)
        if sources is not None:
            yield from pages_of_sources(sources)
        facts = stores.facts
        known = replace(catalogue or EMPTY_CATALOGUE, pythons=facts.torch_pythons, torch_url=cache(facts.torch_url))
        yield from site_pages(site, known, address=address, documents=documents)
        yield from pages_of_variants(stores.variant_files(site, warn), site, as_json=not on_github_pages)

    with _without_cycles():
        size = write_site(progress.count(pages(), "pages made"), output, on_github_pages=on_github_pages)
    if size.bytes > MAX_BYTES:
        warn(f"{output} has {size.bytes:,} bytes, and GitHub Pages publishes {MAX_BYTES:,}: it needs another host")
    return size


def catalogue_of(config: Config, ledger: LedgerSummary) -> Catalogue:
    """Plan a whole configuration as if nothing were published; a failed build with changed inputs counts as untried."""
    facts = config.compatibility
    return Catalogue(
        packages=config.packages,
        plan=make_plan(config, Filters(builder=installed_builder()), {}, known_failures(ledger.failures)),
        drivers={cuda: release.minimum_driver for cuda, release in facts.cuda.items()},
        ptx_drivers={cuda: release.driver for cuda, release in facts.cuda.items() if release.driver},
        gpu_drivers={gpu.capability: driver for gpu in CARDS if (driver := facts.first_driver_for(gpu))},
        downloads={count.day: count.projects for count in ledger.downloads},
    )


@contextmanager
def _without_cycles() -> Iterator[None]:
    """Disable the garbage collector, which took half of the time although the records have no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
