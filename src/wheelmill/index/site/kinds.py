"""Kinds of wheels: what people choose between before they come to Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Self

from packaging.tags import Tag
from packaging.version import Version

from wheelmill.index.tree import IndexFile
from wheelmill.names import Architecture, Platform
from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.label import Label


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What wheels of one project have in common that differ in Python only."""

    version: str
    """The upstream version: ``2.8.3``."""
    label: Label | None
    platform: str
    """``linux_x86_64`` with whatever glibc; where there is none, the tag itself."""
    glibc: str | None
    """The oldest glibc that their tags promise to run on."""
    sass: tuple[Architecture, ...]
    """GPU architectures with machine code."""
    ptx: tuple[Architecture, ...]
    """GPU architectures with portable assembly."""

    @classmethod
    def of(cls, file: IndexFile) -> Self:
        """What a wheel shares with those for other Pythons."""
        version, label = _split_version(file.name.version)
        platform, glibc = _platform_of(file.name.tags)
        evidence = file.certificate.evidence if file.certificate else None
        return cls(
            version=version,
            label=label,
            platform=platform,
            glibc=glibc,
            sass=_architectures(evidence.sass) if evidence else (),
            ptx=_architectures(evidence.ptx) if evidence else (),
        )

    @property
    def folder(self) -> str:
        """Of the project list of the narrowest tree that they stand in."""
        return f"{self.label.trees[-1]}/simple" if self.label else "simple"

    @property
    def architectures(self) -> str:
        """``9.0, 12.0+PTX``: as people write them."""
        return _text_of(self.sass, self.ptx)


# An index has thousands of wheels with few different versions, tags and architectures.


@cache
def _split_version(version: Version) -> tuple[str, Label | None]:
    """What stands before our label, and the label."""
    label = Label.parse(version.local) if version.local else None
    return str(version).removesuffix(str(label)).rstrip("+."), label


@cache
def _platform_of(tags: frozenset[Tag]) -> tuple[str, str | None]:
    """``linux_x86_64`` for every kind of Linux with glibc, and the oldest glibc that is promised."""
    names = sorted({tag.platform for tag in tags})
    glibc = max((promised for name in names if (promised := promised_glibc(name))), default=None)
    platform = None if names[0].startswith("musllinux") else Platform.of_tag(names[0])
    return str(platform or names[0]), str(glibc) if glibc else None


@cache
def _text_of(sass: tuple[Architecture, ...], ptx: tuple[Architecture, ...]) -> str:
    both = [f"{each.capability}{'+PTX' if each in ptx else ''}" for each in sass]
    return ", ".join([*both, *(f"{each.capability} (PTX)" for each in ptx if each not in sass)])


@cache
def _architectures(codes: tuple[str, ...]) -> tuple[Architecture, ...]:
    return tuple(sorted(map(Architecture.of_code, codes)))
