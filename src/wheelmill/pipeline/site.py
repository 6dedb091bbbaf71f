"""The site of all releases, for installers, programs and people."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wheelmill.build.provenance import known_failures
from wheelmill.config.model import Config
from wheelmill.index.aliases import with_aliases
from wheelmill.index.render import Page, pages_of, pages_of_hashes, pages_of_sources
from wheelmill.index.site.pages import site_pages
from wheelmill.index.tree import Catalogue
from wheelmill.index.variants import pages_of_variants
from wheelmill.index.write import MAX_BYTES, SiteSize, write_site
from wheelmill.pipeline.stores import Stores
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, KnownFailures
from wheelmill.release.ledger.records import DownloadCount
from wheelmill.system.progress import QUIET, Progress
from wheelmill.web.credentials import without_credentials
from wheelmill.wheel.gpu_code import CARDS


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
    warn: Callable[[str], None] = lambda _text: None,
) -> SiteSize:
    """Regenerate the site of all releases.

    Args:
        stores: where the wheels are, and how they are listed.
        output: the folder that the site is written to.
        catalogue: what is planned; without it, pages for people show only what is built.
        sources: the ``sources.yml`` that clients of this site take.
        site_url: where people will read the site; None if that is not known yet.
        documents: a folder with wheelmill's documents, rendered by Sphinx, to include in the site.
        on_github_pages: whether GitHub Pages will publish the site, so that one too large for that is refused.
        progress: shows how many manifests were read, and pages made.
        warn: told of manifests that cannot be read, of wheels that nothing attests, which are not listed, and of a site
            that GitHub Pages would not publish.

    Raises:
        SiteError: with everything that must not be published; the old site stays as it is.
        NetworkError: a release's attestations, or the keys to verify them, cannot be fetched now.
    """
    address = site_url and f"{without_credentials(site_url).rstrip('/')}/"

    def pages() -> Iterator[Page]:
        """Make every page. A generator, so that the store is read only while no other process writes the site."""
        site = stores.site(progress, warn)
        aliased = with_aliases(site, catalogue.packages if catalogue else {})
        yield from pages_of(site, aliased.site)
        yield from ((path, [content]) for path, content in aliased.files.items())
        yield from pages_of_hashes(site)
        if sources is not None:
            yield from pages_of_sources(sources)
        yield from site_pages(site, catalogue, site_url=address, documents=documents)
        yield from pages_of_variants(stores.variant_files(site, warn), site)

    with _without_cycles():
        size = write_site(progress.count(pages(), "pages made"), output, on_github_pages=on_github_pages)
    if size.bytes > MAX_BYTES:
        warn(f"{output} has {size.bytes:,} bytes, and GitHub Pages publishes {MAX_BYTES:,}: it needs another host")
    return size


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
    """Disable the garbage collector, which took half of the time, although the records have no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
