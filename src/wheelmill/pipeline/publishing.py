"""From tested wheels to a release, and from releases to the site."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from wheelmill.errors import ReleaseError
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site
from wheelmill.progress import Progress
from wheelmill.release.publish import publish
from wheelmill.release.records import Manifest
from wheelmill.release.store import Publication, Store
from wheelmill.smoke.records import tested_wheel_at


def release_folder(directory: Path, store: Store, progress: Progress) -> Publication:
    """Publish the wheels of a folder that passed smoke.

    Raises:
        ReleaseError: one of them did not, or the store cannot be read or written.
    """
    paths = sorted(directory.glob("*.whl"))
    tested = {path: tested_wheel_at(path) for path in paths}
    if untested := [path.name for path, wheel in tested.items() if wheel is None]:
        raise ReleaseError(f"not tested: {', '.join(untested)}", hint=f"run 'wheelmill smoke {directory}/*.whl' first")
    return publish(store, [wheel for wheel in tested.values() if wheel], now=datetime.now(UTC), progress=progress)


def build_index(manifests: Sequence[Manifest], *, base_url: str, output: Path) -> int:
    """Regenerate the site of all releases; returns the number of its pages."""
    pages = pages_of(site_of_releases(manifests, base_url))
    write_site(pages, output)
    return len(pages)
