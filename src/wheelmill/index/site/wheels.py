"""Wheels as people look for them: by version, CUDA, torch, platform and Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from packaging.version import Version

from wheelmill.index.site.kinds import Kind
from wheelmill.index.site.pythons import Pythons, pythons_of
from wheelmill.index.tree import IndexFile
from wheelmill.smoke.verdict import Certificate


@dataclass(frozen=True, kw_only=True, slots=True)
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
class WheelGroup:
    """Wheels of one project that differ in Python only."""

    kind: Kind
    wheels: tuple[SiteWheel, ...]
    """The oldest Python first."""

    @property
    def pythons(self) -> tuple[Pythons, ...]:
        """Those of the wheels."""
        return tuple(wheel.pythons for wheel in self.wheels)

    @property
    def certificate(self) -> Certificate | None:
        """What was seen in the first of them, which stands for all: they were made alike."""
        return self.wheels[0].file.certificate

    @property
    def exact_version(self) -> str:
        """What a pin names: ``2.8.3+cu128torch2.8``."""
        return str(self.wheels[0].file.name.version)

    @property
    def tried_on(self) -> str:
        """The Pythons of the environments that they were installed into and imported in: ``3.11.7, 3.12.1``."""
        rooms = (room for wheel in self.wheels if wheel.file.certificate for room in wheel.file.certificate.clean_rooms)
        return ", ".join(dict.fromkeys(room.python for room in rooms))

    @property
    def attestations(self) -> tuple[str, ...]:
        """The addresses of their attestations: one for all that were built in one run."""
        return tuple(dict.fromkeys(wheel.file.attestation for wheel in self.wheels if wheel.file.attestation))

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


def wheel_groups(files: Iterable[IndexFile]) -> tuple[WheelGroup, ...]:
    """Sort the wheels of one project; the newest version comes first, then the newest torch, then the newest CUDA.

    Of wheels that differ in their build number only, the highest stands for all: installers take that one.
    """
    newest: dict[tuple[object, ...], IndexFile] = {}
    for file in files:
        other = newest.setdefault((file.name.version, file.name.tags), file)
        if other.name.build < file.name.build:
            newest[file.name.version, file.name.tags] = file
    alike: dict[Kind, list[SiteWheel]] = defaultdict(list)
    for file in newest.values():
        if pythons := pythons_of(file.name.tags):
            alike[Kind.of(file)].append(SiteWheel(file=file, pythons=pythons))
    groups = [WheelGroup(kind=kind, wheels=tuple(sorted(wheels, key=_by_python))) for kind, wheels in alike.items()]
    return tuple(sorted(groups, key=_by_age, reverse=True))


def _by_age(group: WheelGroup) -> tuple[object, ...]:
    kind = group.kind
    label = kind.label
    torch, cuda = (label.torch, label.cuda) if label else (None, None)
    rest = (kind.platform, kind.glibc or "", kind.sass, kind.ptx)
    return (Version(kind.version), torch is not None, torch, cuda is not None, cuda, *rest)


def _by_python(wheel: SiteWheel) -> tuple[object, ...]:
    return (wheel.pythons.oldest is not None, wheel.pythons.oldest, wheel.file.filename)
