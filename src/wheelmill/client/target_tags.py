"""The wheel tags that a target accepts, also a target that is not this machine."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.version import Version

from wheelmill.names import Platform, PythonVersion

_LEGACY: Final = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""Names from before PEP 600, by the minor release of glibc that each stands for."""
_OLDEST_GLIBC: Final = {"x86_64": 5, "i686": 5}
"""Other architectures have manylinux tags from glibc 2.17 on (PEP 599)."""


@dataclass(frozen=True, order=True, slots=True)
class Libc:
    """The C library of a Linux system."""

    family: Literal["glibc", "musl"]
    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2.28``, ``glibc 2.28`` or ``musl 1.2``.

        Raises:
            ValueError: it is none of them.
        """
        family, _, number = text.strip().rpartition(" ")
        major, _, minor = number.partition(".")
        if family in ("", "glibc", "musl") and all(part.isascii() and part.isdigit() for part in (major, minor)):
            return cls("musl" if family == "musl" else "glibc", int(major), int(minor))
        raise ValueError(f"expected a C library such as '2.28', 'glibc 2.28' or 'musl 1.2', not {text!r}")

    def lacks(self, glibc: Version) -> bool:
        """Whether it is a glibc, and an older one."""
        return self.family == "glibc" and Version(f"{self.major}.{self.minor}") < glibc

    def __str__(self) -> str:
        """``glibc 2.28``."""
        return f"{self.family} {self.major}.{self.minor}"


def tags_of(python: PythonVersion, platform: Platform, libc: Libc | None) -> tuple[Tag, ...]:
    """List the tags that an installer for this target accepts, the best first.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    platforms = list(platform_tags(platform, libc))
    version = (python.major, python.minor)
    return (
        *cpython_tags(version, abis=[python.abi], platforms=platforms),
        *compatible_tags(version, interpreter=python.interpreter, platforms=platforms),
    )


@functools.cache
def tag_places(python: PythonVersion, platform: Platform, libc: Libc | None) -> dict[Tag, int]:
    """The tags that an installer for this target accepts, with their places in its order, the best at 0."""
    return {tag: place for place, tag in enumerate(dict.fromkeys(tags_of(python, platform, libc)))}


def platform_tags(platform: Platform, libc: Libc | None) -> Iterator[str]:
    """The platform parts: newest manylinux or musllinux first, then the plain one."""
    if platform.is_linux and libc and libc.family == "glibc":
        for minor in range(libc.minor, _OLDEST_GLIBC.get(platform.machine, 17) - 1, -1):
            yield platform.tag(f"manylinux_{libc.major}_{minor}")
            if minor in _LEGACY:
                yield platform.tag(_LEGACY[minor])
    elif platform.is_linux and libc:
        for minor in range(libc.minor, -1, -1):
            yield platform.tag(f"musllinux_{libc.major}_{minor}")
    yield str(platform)
