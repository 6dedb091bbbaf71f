"""Reading ``images.yml``, the base images of Docker builds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from wheelmill.config.images_file import ImagesFile, images_of
from wheelmill.config.model.images import Images
from wheelmill.config.read import read_file
from wheelmill.errors import ConfigurationError
from wheelmill.system import resources

IMAGES: Final = "images.yml"


def load_images(directory: Path) -> Images:
    """Read the ``images.yml`` of a configuration folder; the one that ships with wheelmill where there is none.

    Raises:
        ConfigurationError: with every fault of the file.
    """
    faults: list[str] = []
    images = read_images(directory, faults)
    if images is None:
        raise ConfigurationError(tuple(faults))
    return images


def read_images(directory: Path, faults: list[str]) -> Images | None:
    """As `load_images`, for those who read other files too: the faults are added to theirs."""
    own = directory / IMAGES
    file = read_file(own if own.exists() else resources.CONFIG / IMAGES, ImagesFile, faults)
    return images_of(file) if file else None
