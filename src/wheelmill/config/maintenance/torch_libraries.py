"""Names of the libraries that torch's wheels hold, and of those in NVIDIA's wheels that they require.

A zip lists its members at its end, so a few byte ranges of each wheel are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Self

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.errors import UnreadableError
from wheelmill.installers.package_index import files_of
from wheelmill.names import Platform
from wheelmill.web.pages import Link
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.metadata import LINUX_MARKERS, metadata_in, read_metadata
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.torch_symbols import MachineLibraries

if TYPE_CHECKING:
    from wheelmill.web.client import Web

TORCH_LIB: Final = PurePosixPath("torch/lib")
"""Folder of the libraries in a wheel of torch."""
MARKERS: Final = LINUX_MARKERS | {"platform_machine": "x86_64"}
"""The values of environment markers on linux_x86_64 (PEP 508)."""
_OF_NVIDIA: Final = ("nvidia-", "cuda-")
"""Prefixes of NVIDIA's projects; ``cuda-toolkit`` only requires others."""
_PIECE: Final = 1 << 16
"""Bytes of one request."""
_BUDGET: Final = 1 << 26
"""Bytes of all requests for one wheel."""


@dataclass(frozen=True, kw_only=True)
class _Wheel:
    """What is read of a wheel."""

    libraries: tuple[PurePosixPath, ...]
    requires: tuple[Requirement, ...]

    @classmethod
    def read(cls, file: Link, web: Web) -> Self:
        """Read the list of a wheel's members and its METADATA; an index need not have the latter (PEP 658)."""
        from wheelmill.web.ranges import RangeFile  # asks a server

        with open_archive(RangeFile(web, file.url, piece=_PIECE, budget=_BUDGET)) as archive:
            paths = map(PurePosixPath, archive.namelist())
            return cls(
                libraries=tuple(path for path in paths if path.name.startswith("lib") and ".so" in path.suffixes),
                requires=tuple(read_metadata(metadata_in(archive)).requires_dist or ()),
            )

    def required(self, extras: Iterable[str]) -> Iterable[Requirement]:
        """Requirements on linux_x86_64, with some extras."""
        environments = [MARKERS | {"extra": extra} for extra in ("", *extras)]
        return (each for each in self.requires if each.marker is None or any(map(each.marker.evaluate, environments)))


def own_libraries(wheels: Mapping[Platform, Link], web: Web) -> tuple[MachineLibraries, ...]:
    """Names of the libraries in ``torch/lib``, for each platform's machine."""
    by_machine = {
        platform.machine: sorted(path.name for path in _Wheel.read(file, web).libraries if path.parent == TORCH_LIB)
        for platform, file in wheels.items()
    }
    return tuple(MachineLibraries(machine=machine, names=tuple(names)) for machine, names in sorted(by_machine.items()))


def nvidia_libraries(torch: Link, web: Web) -> tuple[str, ...]:
    """Names of the libraries in NVIDIA's wheels that a wheel of torch requires, directly or through others."""
    libraries, seen = set[str](), set[str]()
    wanted = list(_Wheel.read(torch, web).required(()))
    while wanted:
        requirement = wanted.pop()
        if str(requirement) in seen or not canonicalize_name(requirement.name).startswith(_OF_NVIDIA):
            continue
        seen.add(str(requirement))
        if file := _newest(requirement, web):
            wheel = _Wheel.read(file, web)
            libraries.update(path.name for path in wheel.libraries)
            wanted += wheel.required(requirement.extras)
    return tuple(sorted(libraries))


def _newest(requirement: Requirement, web: Web) -> Link | None:
    """Newest wheel for linux_x86_64 that a requirement admits; None if the index has none."""
    files = []
    for file in files_of(canonicalize_name(requirement.name), web):
        try:
            name = WheelName.parse(file.filename)
        except UnreadableError:
            continue
        fits = {"any", "linux_x86_64"} & {tag if tag == "any" else str(Platform.of_tag(tag)) for tag in name.platforms}
        if fits and file.yanked is None and requirement.specifier.contains(name.version):
            files.append((name.version, file))
    return max(files, key=lambda each: each[0])[1] if files else None
