"""From releases to the site; and the throw-away site that a wheel is tried from."""

from __future__ import annotations

import gc
import itertools
import posixpath
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.build.identity import known_failures
from wheelmill.config.model import Compatibility, Config, Listing
from wheelmill.errors import NetworkError
from wheelmill.index.aliases import with_aliases
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.deployed import Deployed, ReadDeployed
from wheelmill.index.hashes import pages_of_hashes
from wheelmill.index.idle import idle_lines
from wheelmill.index.render import Page, pages_of, pages_of_sources
from wheelmill.index.serve import serve_folder
from wheelmill.index.site.pages import site_pages
from wheelmill.index.tree import Catalogue, Site
from wheelmill.index.variants import VariantFile, pages_of_variants, variant_files
from wheelmill.index.write import MAX_BYTES, SiteSize, write_site
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.attested import attested_part, derived_part
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, KnownFailures
from wheelmill.release.ledger.records import DownloadCount, LedgerRelease
from wheelmill.release.ledger.releases import absent_files, every_manifest, published
from wheelmill.release.manifest import MANIFEST, ListedRelease
from wheelmill.release.manifest.shared import Shared
from wheelmill.release.store import Store
from wheelmill.smoke.environment import CandidateIndex
from wheelmill.system.files import write_bytes
from wheelmill.web.origin import without_credentials
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.attestation import ATTESTATIONS, Signer
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """A store beside that of the wheels: with copies of them, under their own names, or with their variants."""

    store: Store
    base_url: str
    """What lies above the folders of its wheels."""


def build_index(
    store: Store,
    listing: Listing,
    facts: Compatibility,
    *,
    base_url: str,
    output: Path,
    mirrors: Sequence[Mirror] = (),
    variants: Mirror | None = None,
    read_deployed: ReadDeployed = lambda _read: Deployed(),
    signer: Signer | None = None,
    catalogue: Catalogue | None = None,
    sources: bytes | None = None,
    site_url: str | None = None,
    documents: Path | None = None,
    on_github_pages: bool = False,
    warn: Callable[[str], None] = lambda _text: None,
) -> SiteSize:
    """Regenerate the site of all releases.

    Args:
        store: the store with the releases.
        listing: which wheels are yanked or removed, and the status of projects.
        facts: which torches there are for each CUDA.
        base_url: what lies above the releases' folders; absolute, or relative to the root of the site.
        output: the folder that the site is written to.
        mirrors: other stores with the same wheels, whose addresses are named; of several, that of the first.
        variants: the store with variant wheels of the same wheels.
        read_deployed: reads the site that people use now: no wheel of it may change or vanish, and of a release whose
            manifest cannot be read it is listed what stands there.
        signer: who must have attested a wheel that is listed; None lists all.
        catalogue: what else is known of packages; without it, pages for people show only what is built.
        sources: the ``sources.yml`` that clients of this site take.
        site_url: where people will read the site; None where nobody knows yet.
        documents: a folder with wheelmill's documents as Sphinx renders them, which the site gets, too.
        on_github_pages: whether GitHub Pages will publish it, so that one that is too large for that is refused.
        warn: told of manifests that cannot be read, of wheels that nothing attests, which are not listed, and of a site
            that GitHub Pages would not publish.

    Raises:
        SiteError: with everything that must not be published; the old site stays as it is.
        NetworkError: a release's attestations, or the keys that they are verified with, cannot be had now.
    """
    address = site_url and f"{without_credentials(site_url).rstrip('/')}/"

    def pages() -> Iterator[Page]:
        """Read the store when no other process writes the site: who writes last knows most."""
        site = _site_of(
            store, listing, facts, base_url, mirrors=mirrors, read_deployed=read_deployed, signer=signer, warn=warn
        )
        aliased = with_aliases(site, catalogue.packages if catalogue else {})
        files = ((path, [content]) for path, content in aliased.files.items())
        listed = pages_of_sources(sources) if sources is not None else ()
        people = site_pages(site, catalogue, site_url=address, documents=documents)
        yield from itertools.chain(pages_of(site, aliased.site), files, pages_of_hashes(site), listed, people)
        if variants:
            yield from pages_of_variants(_variants_in(variants, site, signer, warn), site)

    with _without_cycles():
        size = write_site(pages(), output, on_github_pages=on_github_pages)
    if size.bytes > MAX_BYTES:
        warn(f"{output} has {size.bytes:,} bytes, and GitHub Pages publishes {MAX_BYTES:,}: it needs another host")
    return size


def _site_of(
    store: Store,
    listing: Listing,
    facts: Compatibility,
    base_url: str,
    *,
    mirrors: Sequence[Mirror],
    read_deployed: ReadDeployed,
    signer: Signer | None,
    warn: Callable[[str], None],
) -> Site:
    known, shared = store.ledger.manifests(), Shared()
    faulty: dict[ReleaseTag, str] = {}
    manifests = [shared.release(manifest) for manifest in every_manifest(store, known, warn, faulty.__setitem__)]
    read = {manifest.tag for manifest in manifests}
    deployed = read_deployed(manifests)
    kept = [manifest for manifest in deployed.unread if store.is_published(manifest.tag)]
    for manifest in kept:
        if reason := faulty.pop(manifest.tag, None):
            warn(reason)
        warn(f"{manifest.tag}: its wheels stay listed as they are in the deployed index; {_MEND}")
    manifests += kept
    for text in idle_lines(listing, manifests, deployed.hashes):
        warn(text)
    absent = absent_files(store, {manifest.tag: manifest for manifest in manifests}) if store.lists_at_once else {}
    folders = {} if store.folder_of(Sha256("")) is None else _folders_in(store, base_url, manifests)
    for mirror in reversed(mirrors):
        folders |= _folders_in(mirror.store, mirror.base_url, published(mirror.store, warn).releases.values())
    return site_of_releases(
        list(_attested(store, manifests, signer, warn)) if signer else manifests,
        base_url,
        listing,
        folders=folders,
        torches=facts.torches_of,
        absent=absent,
        faults=[fault for tag in sorted(faulty) for fault in faulty[tag].splitlines()],
        deployed=deployed.hashes or _published_in(known.keys() - read - faulty.keys(), store),
    )


def _variants_in(
    place: Mirror, site: Site, signer: Signer | None, warn: Callable[[str], None]
) -> tuple[VariantFile, ...]:
    """The variant wheels of what a site lists; a release that cannot be read is told, and has none.

    Where wheels must be attested, `derived_part` says which variants of them are listed.
    """
    store = place.store
    manifests = [*every_manifest(store, store.ledger.manifests(), warn, lambda _tag, faults: warn(faults))]
    if signer:
        attested = {file.sha256 for files in site.files.values() for file in files}
        manifests = [derived_part(each, store, attested, warn) for each in manifests]
    return variant_files(
        manifests,
        place.base_url,
        site,
        folders={} if store.folder_of(Sha256("")) is None else _folders_in(store, place.base_url, manifests),
        absent=absent_files(store, {each.tag: each for each in manifests}) if store.lists_at_once else {},
        warn=warn,
    )


def _folders_in(
    store: Store, base_url: str, releases: Iterable[LedgerRelease | ListedRelease]
) -> dict[tuple[str, Sha256], str]:
    """The folder of every wheel of a store, by file name and hash."""
    return {
        (wheel.filename, wheel.sha256): posixpath.join(base_url, store.folder_of(wheel.sha256) or release.tag)
        for release in releases
        for wheel in release.wheels
    }


_MEND: Final = f"put its {MANIFEST} back, or name them in removed.yml"


def _published_in(unread: Collection[ReleaseTag], store: Store) -> dict[str, Sha256]:
    """The wheels that must not vanish where nobody says what is listed: all that the ledger knows to be published."""
    releases = store.ledger.read().releases if unread else {}
    return {wheel.filename: wheel.sha256 for tag in unread for wheel in releases[tag].wheels}


def catalogue_of(config: Config, failures: KnownFailures, downloads: Sequence[DownloadCount] = ()) -> Catalogue:
    """Plan everything that a configuration holds, as if nothing were published.

    Args:
        config: the configuration that the packages are built from.
        failures: builds that failed; those whose inputs changed since count as not tried.
        downloads: how often packages were downloaded until some days, the oldest first.
    """
    facts = config.compatibility
    return Catalogue(
        packages=config.packages,
        plan=make_plan(config, Filters(), {}, known_failures(failures)),
        drivers={cuda: release.minimum_driver for cuda, release in facts.cuda.items()},
        ptx_drivers={cuda: release.driver for cuda, release in facts.cuda.items() if release.driver},
        gpu_drivers={gpu.capability: driver for gpu in CARDS if (driver := facts.first_driver_for(gpu))},
        downloads={count.day: count.projects for count in downloads},
    )


@contextmanager
def _without_cycles() -> Iterator[None]:
    """Keep Python from looking for cycles among records, which have none: that took half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _attested(
    store: Store, manifests: Sequence[ListedRelease], signer: Signer, warn: Callable[[str], None]
) -> Iterator[ListedRelease]:
    """Leave out wheels that nothing attests.

    Raises:
        NetworkError: attestations cannot be had now.
    """
    signed = {each.tag: each for each in manifests if any(entry.attested for entry in each.wheels)}
    yield from (attested_part(each, b"", signer, warn) for each in manifests if each.tag not in signed)
    for tag, bundles in store.read_each(dict.fromkeys(signed), ATTESTATIONS):
        if isinstance(bundles, NetworkError) and bundles.status != HTTPStatus.NOT_FOUND:
            raise bundles
        yield attested_part(signed[tag], bundles if isinstance(bundles, bytes) else b"", signer, warn)


@contextmanager
def serve_candidate(folder: Path, wheels: Collection[WheelFile]) -> Iterator[CandidateIndex]:
    """Write wheels, sidecars and pages to a folder and serve them on this machine; see `ServeIndex`.

    Smoke installs from there, so that what is tried is what a user will do.
    """
    files = folder / "files"
    files.mkdir()
    for wheel in wheels:
        shutil.copyfile(wheel.path, files / wheel.filename)
        write_bytes(files / (wheel.filename + SIDECAR_SUFFIX), metadata_bytes(wheel.path))
    site = site_of_folder(files, "../files", warn=lambda _text: None)
    write_site(pages_of(site), folder / "site")
    tree = max(site.trees, key=lambda tree: len(tree.projects))  # those for a torch's candidate stand in no other
    with serve_folder(folder) as url:
        required = _required_of_others(wheels)
        yield CandidateIndex(folder=folder, path=f"site/{tree.folder}/", url=url, requires=required)


def _required_of_others(wheels: Collection[WheelFile]) -> tuple[str, ...]:
    """What wheels say they need, but for each other."""
    metadata = [read_metadata(metadata_bytes(wheel.path)) for wheel in wheels]
    own = {canonicalize_name(each.name) for each in metadata}
    required = {requirement for each in metadata for requirement in each.requires_dist or ()}
    return tuple(sorted(str(each) for each in required if canonicalize_name(each.name) not in own))
