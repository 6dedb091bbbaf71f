"""Reading a ``config/`` folder: all of it is right, or every fault is named."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from wheelmill.config.compatibility_file import CompatibilityFile, compatibility_of
from wheelmill.config.images import read_images
from wheelmill.config.listing import read_listing
from wheelmill.config.lock_file import LockFile, lock_of
from wheelmill.config.model import Config
from wheelmill.config.packages import package_of
from wheelmill.config.packages_file import PackagesFile
from wheelmill.config.read import read_file
from wheelmill.errors import ConfigurationError
from wheelmill.system import resources

PACKAGES: Final = "packages.yml"
COMPATIBILITY: Final = "compatibility.yml"
LOCK: Final = "packages.lock"


def load_config(directory: Path) -> Config:
    """Read a configuration folder.

    Only ``packages.yml`` must be there: ``compatibility.yml`` and ``images.yml`` ship with wheelmill, and a missing
    ``packages.lock`` locks nothing; nor do a missing ``yanked.yml`` and ``removed.yml`` yank or remove anything.

    Raises:
        ConfigurationError: with every fault of every file.
    """
    faults: list[str] = []
    packages = read_file(directory / PACKAGES, PackagesFile, faults)
    own_facts = directory / COMPATIBILITY
    facts = read_file(own_facts if own_facts.exists() else resources.CONFIG / COMPATIBILITY, CompatibilityFile, faults)
    locked = read_file(directory / LOCK, LockFile, faults) if (directory / LOCK).exists() else LockFile(sdists={})
    images = read_images(directory, faults)
    listing = read_listing(directory, faults)
    if packages is None or facts is None or locked is None or images is None or listing is None:
        raise ConfigurationError(tuple(faults))
    lock = lock_of(locked)
    return Config(
        directory=directory,
        packages={name: package_of(name, entry, directory, lock) for name, entry in packages.packages.items()},
        compatibility=compatibility_of(facts),
        lock=lock,
        images=images,
        listing=listing,
    )
