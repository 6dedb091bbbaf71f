"""Reading ``yanked.yml`` and ``removed.yml``. A folder without one of them yanks, or removes, nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from wheelmill.config.listing_file import RemovedFile, YankedFile, listing_of
from wheelmill.config.model.listing import Listing
from wheelmill.config.read import read_file
from wheelmill.errors import ConfigurationError

YANKED: Final = "yanked.yml"
REMOVED: Final = "removed.yml"


def load_listing(directory: Path) -> Listing:
    """Read both files of a configuration folder.

    Raises:
        ConfigurationError: with every fault of both.
    """
    faults: list[str] = []
    listing = read_listing(directory, faults)
    if listing is None:
        raise ConfigurationError(tuple(faults))
    return listing


def read_listing(directory: Path, faults: list[str]) -> Listing | None:
    """As `load_listing`, for those who read other files too: the faults are added to theirs."""
    yanked, removed = directory / YANKED, directory / REMOVED
    yanked_file = read_file(yanked, YankedFile, faults) if yanked.exists() else YankedFile()
    removed_file = read_file(removed, RemovedFile, faults) if removed.exists() else RemovedFile()
    return listing_of(yanked_file, removed_file) if yanked_file and removed_file else None
