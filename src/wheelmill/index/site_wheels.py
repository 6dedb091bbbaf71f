"""Wheels as people look for them: by version, CUDA, torch, platform and Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Self

from packaging.tags import Tag
from packaging.version import Version

from wheelmill.index.records import IndexFile
from wheelmill.names import Architecture, Platform, PythonVersion
from wheelmill.smoke.records import Certificate
from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.label import Label

_MACHINES: Final = ("x86_64", "aarch64")


@dataclass(frozen=True, kw_only=True)
class Pythons:
    """The Pythons that a wheel's tags let in.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    oldest: PythonVersion | None
    """None for every Python 3."""
    only: bool
    """Whether newer ones are kept out."""

    @classmethod
    def of(cls, tag: Tag) -> Self:
        """Read the interpreter and the ABI of a tag.

        Raises:
            ValueError: they are not CPython's.
        """
        if tag.interpreter == "py3":
            return cls(oldest=None, only=False)
        if tag.abi == "abi3" or tag.interpreter.startswith("py3"):
            return cls(oldest=PythonVersion.parse(tag.interpreter.removeprefix("py")), only=False)
        return cls(oldest=PythonVersion.parse(tag.interpreter if tag.abi == "none" else tag.abi), only=True)

    def let_in(self, python: PythonVersion) -> bool:
        """Whether a wheel of these tags installs on a Python."""
        if self.oldest is None or self.only:
            return self.oldest in (None, python)
        return python >= self.oldest and not python.free_threaded

    def __str__(self) -> str:
        """``3.12``, ``3.9+`` or ``any``."""
        return "any" if self.oldest is None else f"{self.oldest}{'' if self.only else '+'}"


@dataclass(frozen=True, kw_only=True)
class SiteWheel:
    """One wheel."""

    file: IndexFile
    pythons: Pythons

    @property
    def build_seconds(self) -> float | None:
        """What its build took; None for one that was built elsewhere."""
        certificate = self.file.certificate
        return certificate.provenance.seconds if certificate and certificate.provenance else None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What wheels of one project have in common that differ in Python only."""

    version: str
    """The upstream version: ``2.8.3``."""
    label: Label | None
    platform: Platform
    """``linux_x86_64``; on other systems the tag itself."""
    glibc: str | None
    """The oldest glibc that their tags promise to run on."""
    sass: tuple[Architecture, ...]
    """GPU architectures with machine code."""
    ptx: tuple[Architecture, ...]
    """GPU architectures with portable assembly."""

    @property
    def tree(self) -> str:
        """The narrowest tree that they stand in."""
        return self.label.trees[-1] if self.label else ""

    @property
    def architectures(self) -> tuple[str, ...]:
        """``9.0``, ``12.0+PTX``: as people write them."""
        return tuple(f"{each.capability}{'+PTX' if each in self.ptx else ''}" for each in self.sass) + tuple(
            f"{each.capability} (PTX)" for each in self.ptx if each not in self.sass
        )


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Wheels of one project that differ in Python only."""

    kind: Kind
    wheels: tuple[SiteWheel, ...]
    """The oldest Python first."""

    @property
    def certificate(self) -> Certificate | None:
        """What was seen in the first of them, which stands for all: they were made alike."""
        return self.wheels[0].file.certificate

    @property
    def exact_version(self) -> str:
        """What a pin names: ``2.8.3+cu128torch2.8``."""
        return str(self.wheels[0].file.name.version)

    @property
    def tried_on(self) -> tuple[str, ...]:
        """The Pythons of the environments that they were installed into and imported in."""
        rooms = (room for wheel in self.wheels if wheel.file.certificate for room in wheel.file.certificate.clean_rooms)
        return tuple(dict.fromkeys(room.python for room in rooms))

    @property
    def releases(self) -> tuple[IndexFile, ...]:
        """A wheel of each release that has some of them: the manifest lies beside it."""
        return tuple({wheel.file.release: wheel.file for wheel in self.wheels if wheel.file.release}.values())

    @property
    def largest(self) -> int:
        """The size of the largest wheel in bytes."""
        return max(wheel.file.size for wheel in self.wheels)

    @property
    def uploaded_at(self) -> datetime | None:
        """When the newest of them was published."""
        return max((wheel.file.uploaded_at for wheel in self.wheels if wheel.file.uploaded_at), default=None)


def variants_of(files: Iterable[IndexFile]) -> tuple[Variant, ...]:
    """Sort the wheels of one project; the newest version comes first, then the newest torch, then the newest CUDA.

    Of wheels that differ in their build number only, the highest stands for all: installers take that one.
    """
    newest: dict[tuple[object, ...], IndexFile] = {}
    for file in files:
        key = (file.name.version, file.name.tags)
        newest[key] = max(newest.get(key, file), file, key=lambda file: file.name.build)
    variants: dict[Kind, list[SiteWheel]] = {}
    for file in newest.values():
        if pythons := _pythons_of(file.name.tags):
            variants.setdefault(_kind_of(file), []).append(SiteWheel(file=file, pythons=pythons))
    return tuple(
        Variant(kind=kind, wheels=tuple(sorted(variants[kind], key=_by_python)))
        for kind in sorted(variants, key=_by_age, reverse=True)
    )


def _kind_of(file: IndexFile) -> Kind:
    version, label = _upstream(file.name.version)
    platform, glibc = _platform_of(file.name.tags)
    evidence = file.certificate.evidence if file.certificate else None
    return Kind(
        version=version,
        label=label,
        platform=platform,
        glibc=glibc,
        sass=_architectures(evidence.sass, "sm_") if evidence else (),
        ptx=_architectures(evidence.ptx, "compute_") if evidence else (),
    )


# An index has thousands of wheels with few different versions, tags and architectures.


@cache
def _pythons_of(tags: frozenset[Tag]) -> Pythons | None:
    try:
        return max((Pythons.of(tag) for tag in tags), key=lambda pythons: not pythons.only)
    except ValueError:
        return None


@cache
def _upstream(version: Version) -> tuple[str, Label | None]:
    """What stands before our label, and the label."""
    label = Label.parse(version.local) if version.local else None
    return str(version).removesuffix(str(label)).rstrip("+."), label


@cache
def _platform_of(tags: frozenset[Tag]) -> tuple[Platform, str | None]:
    """``linux_x86_64`` for every kind of Linux with glibc, and the oldest glibc that is promised."""
    names = sorted({tag.platform for tag in tags})
    glibc = max((promised for name in names if (promised := promised_glibc(name))), default=None)
    platform = names[0]
    if platform.startswith(("manylinux", "linux_")):
        platform = next((f"linux_{machine}" for machine in _MACHINES if platform.endswith(machine)), platform)
    return Platform(platform), str(glibc) if glibc else None


@cache
def _architectures(names: tuple[str, ...], prefix: str) -> tuple[Architecture, ...]:
    """Read ``sm_90a``: the last digit is the minor part."""
    found = []
    for name in names:
        number = name.removeprefix(prefix)
        feature = number[-1:] if number[-1:].isalpha() else ""
        digits = number.removesuffix(feature)
        found.append(Architecture.parse(f"{digits[:-1]}.{digits[-1:]}{feature}"))
    return tuple(sorted(found))


def _by_age(kind: Kind) -> tuple[object, ...]:
    label = kind.label
    torch, cuda = (label.torch, label.cuda) if label else (None, None)
    rest = (kind.platform, kind.glibc or "", kind.sass, kind.ptx)
    return (Version(kind.version), torch is not None, torch, cuda is not None, cuda, *rest)


def _by_python(wheel: SiteWheel) -> tuple[object, ...]:
    return (wheel.pythons.oldest is not None, wheel.pythons.oldest, wheel.file.filename)
