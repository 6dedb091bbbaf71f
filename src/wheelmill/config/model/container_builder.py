"""Tables of the installed cibuildwheel, which builds in containers: its Pythons, and the images that it pins.

https://cibuildwheel.pypa.io/en/stable/options/#linux-image
"""

from __future__ import annotations

import functools
import importlib.metadata
import tomllib
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from wheelmill.errors import UnreadableError
from wheelmill.names import Platform, PythonVersion

PYTHONS: Final = "build-platforms.toml"
IMAGES: Final = "pinned_docker_images.cfg"


@dataclass(frozen=True, kw_only=True)
class ContainerBuilder:
    """Release of cibuildwheel."""

    name: str
    """``cibuildwheel 4.3.3``."""
    identifiers: frozenset[str]
    """Its builds: ``cp313-manylinux_x86_64``."""
    images: frozenset[str] = frozenset()
    """Its images: ``quay.io/pypa/manylinux_2_28_x86_64:2026.10.21-1@sha256:...``."""

    def has(self, python: PythonVersion, platform: Platform) -> bool:
        """True if it builds for a Python on a platform."""
        return identifier_of(python, platform) in self.identifiers

    def pythons(self, platform: Platform) -> frozenset[PythonVersion]:
        """Return the CPythons that it builds for on a platform."""
        words = (identifier.partition("-") for identifier in self.identifiers)
        return frozenset(
            PythonVersion.parse(abi) for abi, _, place in words if abi.startswith("cp") and place == f"many{platform}"
        )


def identifier_of(python: PythonVersion, platform: Platform) -> str:
    """Return cibuildwheel's name of a build: ``cp313t-manylinux_x86_64``."""
    return f"{python.abi}-many{platform}"


@functools.cache
def installed_builder() -> ContainerBuilder | None:
    """Read the tables of the installed cibuildwheel, or raise UnreadableError; None without the factory extra."""
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
