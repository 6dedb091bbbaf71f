"""Wheels as people look for them: by version, CUDA, torch, platform and Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from packaging.tags import Tag
from packaging.version import Version

from wheelmill.index.records import IndexFile
from wheelmill.names import Architecture, Platform, PythonVersion
from wheelmill.smoke.records import Certificate
from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.label import Label
from wheelmill.wheel.records import WheelName

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
    name: WheelName
    pythons: Pythons

    @property
    def build_seconds(self) -> float | None:
        """What its build took; None for one that was built elsewhere."""
        certificate = self.file.certificate
        return certificate.provenance.seconds if certificate and certificate.provenance else None

    @property
    def tried_on(self) -> tuple[str, ...]:
        """The Pythons of the environments that it was installed into and imported in."""
        rooms = self.file.certificate.clean_rooms if self.file.certificate else ()
        return tuple(dict.fromkeys(room.python for room in rooms))


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
        return str(self.wheels[0].name.version)

    @property
    def largest(self) -> int:
        """The size of the largest wheel in bytes."""
        return max(wheel.file.size for wheel in self.wheels)

    @property
    def uploaded_at(self) -> datetime | None:
        """When the newest of them was published."""
        return max((wheel.file.uploaded_at for wheel in self.wheels if wheel.file.uploaded_at), default=None)


def variants_of(files: Iterable[IndexFile]) -> tuple[Variant, ...]:
    """Sort the wheels of one project; the newest version, CUDA and torch come first.

    Of wheels that differ in their build number only, the highest stands for all: installers take that one.
    """
    newest: dict[tuple[object, ...], WheelName] = {}
    names = [(file, WheelName.parse(file.filename)) for file in files]
    for _, name in names:
        key = (name.version, name.tags)
        newest[key] = max(newest.get(key, name), name, key=lambda name: name.build)
    variants: dict[Kind, list[SiteWheel]] = {}
    for file, name in names:
        if newest[name.version, name.tags] == name and (pythons := _pythons_of(name)):
            variants.setdefault(_kind_of(file, name), []).append(SiteWheel(file=file, name=name, pythons=pythons))
    return tuple(
        Variant(kind=kind, wheels=tuple(sorted(variants[kind], key=_by_python)))
        for kind in sorted(variants, key=_by_age, reverse=True)
    )


def _pythons_of(name: WheelName) -> Pythons | None:
    try:
        return max((Pythons.of(tag) for tag in name.tags), key=lambda pythons: not pythons.only)
    except ValueError:
        return None


def _kind_of(file: IndexFile, name: WheelName) -> Kind:
    label = name.label
    evidence = file.certificate.evidence if file.certificate else None
    promised = max((glibc for tag in name.platforms if (glibc := promised_glibc(tag))), default=None)
    return Kind(
        version=str(name.version).removesuffix(str(label)).rstrip("+.") if label else str(name.version),
        label=label,
        platform=_platform_of(name.platforms[0]),
        glibc=str(promised) if promised else None,
        sass=_architectures(evidence.sass if evidence else (), "sm_"),
        ptx=_architectures(evidence.ptx if evidence else (), "compute_"),
    )


def _platform_of(tag: str) -> Platform:
    """``linux_x86_64`` for every kind of Linux with glibc."""
    if tag.startswith(("manylinux", "linux_")):
        return next((Platform(f"linux_{machine}") for machine in _MACHINES if tag.endswith(machine)), Platform(tag))
    return Platform(tag)


def _architectures(names: Iterable[str], prefix: str) -> tuple[Architecture, ...]:
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
