"""Which part of the matrix a package is built for, and which parts are treated differently."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet

from wheelmill.config.annotations import Entry
from wheelmill.config.fields import Platforms, Range, Text
from wheelmill.names import PythonVersion, StableTorch


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The range of a part of the matrix on one axis."""

    axis: str
    """The name of the axis in a cell."""
    text: str
    """The axis and its range for people: ``Python >=3.11``."""
    admits: Callable[[Any], bool]
    """Whether a value of the axis lies in the range. Cached, since a plan asks for 100,000 cells."""


@dataclass(frozen=True, kw_only=True)
class Part(Entry):
    """A part of the matrix: every axis that is given must match."""

    version: Range | None = None
    python: Range | None = None
    cuda: Range | None = None
    torch: Range | None = None
    platform: Platforms | None = None

    @functools.cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The axes that are given."""
        ranges = (("Python", self.python), ("CUDA", self.cuda), ("torch", self.torch))
        bounds = [
            Bound(axis=word.lower(), text=f"{word} {values}", admits=functools.cache(functools.partial(_is_in, values)))
            for word, values in (("version", self.version), *ranges)
            if values is not None
        ]
        if (platforms := self.platform) is not None:
            bounds.append(
                Bound(axis="platform", text=", ".join(map(str, platforms)), admits=frozenset(platforms).__contains__)
            )
        return tuple(bounds)


def _is_in(values: SpecifierSet, value: object) -> bool:
    """Whether a range has a version; None and a range of torches are in no range."""
    match value:
        case None | StableTorch():
            return False
        case PythonVersion(major=major, minor=minor):
            return values.contains(f"{major}.{minor}", prereleases=True)
        case version:
            return values.contains(str(version), prereleases=True)


@dataclass(frozen=True, kw_only=True)
class Defaults(Entry):
    """What is built of packages that say nothing of an axis. Whoever asks for a value gets it all the same."""

    python: Range | None = None
    """Pythons: ">=3.10"."""
    cuda: Range | None = None
    """CUDA releases: ">=12.6"."""
    torch: Range | None = None
    """torch minor releases: ">=2.10"."""
    platforms: Platforms | None = None


@dataclass(frozen=True, kw_only=True)
class MatrixRule(Part):
    """A part of the matrix that is treated differently, and why."""

    reason: Text
    """The reason, which people who miss a wheel will read."""
    since: dt.date | None = None
    """Since when. Must be there where the newest torch is left out, so that nobody forgets to look again."""

    @property
    def explained(self) -> str:
        """``its code is for torch 2.8 (since 2026-11-21)``."""
        return f"{self.reason} (since {self.since})" if self.since else self.reason
