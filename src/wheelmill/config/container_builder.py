"""Tables of the installed cibuildwheel, which builds in containers: its Pythons, and the images that it pins.

https://cibuildwheel.pypa.io/en/stable/options/#linux-image
"""

from __future__ import annotations

import functools
import importlib.metadata
import tomllib
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from importlib.resources import files
from typing import Final

from wheelmill.config.model import ContainerBuilder
from wheelmill.errors import UnreadableError

PYTHONS: Final = "build-platforms.toml"
IMAGES: Final = "pinned_docker_images.cfg"


@functools.cache
def installed_builder() -> ContainerBuilder | None:
    """Read the tables of the installed cibuildwheel; None without the factory extra.

    Raises UnreadableError if they have another form.
    """
    try:
        resources = files("cibuildwheel").joinpath("resources")
    except ModuleNotFoundError:
        return None
    name = f"cibuildwheel {importlib.metadata.version('cibuildwheel')}"
    try:
        systems = tomllib.loads(resources.joinpath(PYTHONS).read_text("utf-8")).values()
        identifiers = frozenset(build["identifier"] for system in systems for build in system["python_configurations"])
        pinned = ConfigParser(interpolation=None)
        pinned.read_string(resources.joinpath(IMAGES).read_text("utf-8"))
        lines = (line.split() for machine in pinned.values() for line in machine.values())
        images = frozenset(image.replace("@", f":{tag}@") for image, _, tag in lines)  # name@digest # tag
    except (OSError, ConfigParserError, LookupError, TypeError, ValueError) as error:
        hint = "install the locked cibuildwheel, or a wheelmill that reads this one"
        raise UnreadableError("builder-unreadable", f"cannot read the tables of {name}: {error!r}", hint=hint) from None
    return ContainerBuilder(name=name, identifiers=identifiers, images=images)
