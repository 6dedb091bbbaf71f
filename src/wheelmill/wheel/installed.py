"""Where installers put the files of a wheel.

https://packaging.python.org/en/latest/specifications/binary-distribution-format/#the-data-directory
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

Place = Literal["library", "programs", "environment", "elsewhere"]
"""The folder of packages, that of commands, that of the whole environment, or any other place in it."""

_SCHEMES: Final[Mapping[str, Place]] = {"purelib": "library", "platlib": "library", "scripts": "programs"}
_PROGRAMS: Final = ("bin", "Scripts")
LIBRARIES: Final = ("site-packages", "dist-packages")
"""The names of folders with installed packages."""


@dataclass(frozen=True, kw_only=True)
class InstalledFile:
    """A file of a wheel, and where it is installed."""

    member: str
    """Its name in the wheel."""
    place: Place
    path: PurePosixPath
    """Its path below that place."""

    @property
    def top(self) -> str:
        """The module or the folder that it belongs to: ``demo`` of ``demo/_C.so`` and of ``demo.abi3.so``."""
        return self.path.parts[0] if len(self.path.parts) > 1 else self.path.name.partition(".")[0]


def installed_files(members: Iterable[str]) -> Iterator[InstalledFile]:
    """Find where installers put a wheel's members, which are files with safe names."""
    for member in members:
        place, parts = _place_of(PurePosixPath(member).parts)
        yield InstalledFile(member=member, place=place, path=PurePosixPath(*parts))


def _place_of(parts: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
    match parts:
        case (data, scheme, *below) if data.endswith(".data") and below:
            if scheme == "data":
                return _place_in_prefix(tuple(below))
            return _SCHEMES.get(scheme, "elsewhere"), tuple(below)
        case _:
            return "library", parts


def _place_in_prefix(parts: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
    """Look for the other places in the folder of the whole environment, which has them all."""
    for number, part in enumerate(parts[:-1]):
        if part in LIBRARIES:
            return "library", parts[number + 1 :]
    if parts[0] in _PROGRAMS and len(parts) > 1:
        return "programs", parts[1:]
    return "environment", parts
