"""Wheels grouped for people by version, CUDA, torch, platform and Python, and the addresses of their pages.

``packages/flash-attn/`` has ``2.8.3/`` below it, and below that the wheels of one label,
``cu128torch2.8/#cp312-cp312-manylinux_2_28_x86_64``. Further pages of one of them are ``page-2/``: no version and no
label has a hyphen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Self, TypeVar
from urllib.parse import quote

from msgspec import Struct
from packaging.tags import Tag
from packaging.version import Version

from wheelmill.index.tree import IndexFile
from wheelmill.names import Architecture, CudaVersion, Platform, ProjectName, PythonVersion, TorchNeed, TorchVersion
from wheelmill.release.manifest.record import ListedProvenance
from wheelmill.smoke.verdict import ListedEvidence
from wheelmill.wheel.label import BuiltFor, Label, age_of
from wheelmill.wheel.name import stable_since, written_parts
from wheelmill.wheel.platforms import promised_glibc

Trees = Mapping[CudaVersion, Sequence[TorchVersion]]
"""The torches that have a tree, by CUDA."""
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pythons:
    """Pythons that a wheel's tags admit.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    oldest: PythonVersion | None
    """None for every Python 3."""
    only: bool
    """True if newer ones are kept out."""
    both: bool = False
    """True if free-threaded ones of the same releases are admitted too."""

    @classmethod
    def of(cls, tag: Tag) -> Self:
        """Read the interpreter and the ABI of a tag; raise ValueError if they are not CPython's."""
        if tag.interpreter == "py3":
            return cls(oldest=None, only=False)
        if since := stable_since(tag):
            return cls(oldest=since, only=False)
        if tag.interpreter.startswith("py3"):
            return cls(oldest=PythonVersion.parse(tag.interpreter.removeprefix("py")), only=False)
        return cls(oldest=PythonVersion.parse(tag.interpreter if tag.abi == "none" else tag.abi), only=True)

    def allows(self, python: PythonVersion) -> bool:
        """Return whether a wheel of these tags installs on a Python."""
        if self.oldest is None or self.only:
            return self.oldest in (None, python)
        if python.free_threaded != self.oldest.free_threaded and not self.both:
            return False
        return python >= replace(self.oldest, free_threaded=python.free_threaded)

    def __str__(self) -> str:
        """Format as ``3.12``, ``3.9+``, ``3.15+, 3.15t+`` or ``any``."""
        if self.oldest is None:
            return "any"
        return f"{self.oldest}{'' if self.only else '+'}{f', {self.oldest}t+' if self.both else ''}"


# An index has thousands of wheels with few different tags, and as few sets of Pythons.


@cache
def pythons_of(tags: frozenset[Tag]) -> Pythons | None:
    """Return the widest choice that a wheel's tags give; None if none is for CPython."""
    try:
        widest, *others = sorted(map(Pythons.of, tags), key=lambda pythons: (pythons.only, order_of(pythons)))
    except ValueError:
        return None
    return replace(widest, both=any(each.oldest.free_threaded for each in others if each.oldest and not each.only))


NO_PYTHON: Final = (0, 0, False)
"""The order of those for no certain Python."""


@cache
def order_of(pythons: Pythons) -> tuple[int, int, bool]:
    """Return a sort key: every Python 3 first, then by the oldest; numbers compare faster than Pythons."""
    oldest = pythons.oldest
    return (oldest.major, oldest.minor, oldest.free_threaded) if oldest else NO_PYTHON


@cache
def covered_pythons(pythons: tuple[PythonVersion, ...], wheels: tuple[Pythons, ...]) -> tuple[PythonVersion, ...]:
    """Return the Pythons on which at least one of the wheels installs."""
    return tuple(python for python in pythons if any(wheel.allows(python) for wheel in wheels))


def evidence_of(file: IndexFile) -> ListedEvidence | None:
    """Return the evidence in a wheel's certificate; None if it has no certificate."""
    return file.certificate.evidence if file.certificate else None


def provenance_of(file: IndexFile) -> ListedProvenance | None:
    """Return the provenance in a wheel's certificate; None if its build is unknown."""
    return file.certificate.provenance if file.certificate else None


class Kind(Struct, frozen=True, kw_only=True, gc=False):
    """Common facts of one project's wheels that differ in Python only."""

    version: str
    """Version without the label: ``2.8.3``."""
    exact_version: str
    """Version in a pin: ``2.8.3+cu128torch2.8``."""
    torch: TorchNeed | None = None
    platform: str
    """``linux_x86_64`` with any glibc; for other systems, the tag itself."""
    glibc: str | None
    """The oldest glibc that their tags promise to run on."""
    sass: tuple[Architecture, ...]
    """GPU architectures with machine code."""
    ptx: tuple[Architecture, ...]
    """GPU architectures with portable assembly."""

    @classmethod
    def of(cls, file: IndexFile) -> Self:
        """Return the facts that a wheel shares with those for other Pythons."""
        platform, glibc = platform_of(file.name.tags)
        evidence = evidence_of(file)
        exact_version = str(file.name.version)
        return cls(
            version=version_before_label(exact_version),
            exact_version=exact_version,
            torch=file.torch,
            platform=platform,
            glibc=glibc,
            sass=_architectures(evidence.sass) if evidence else (),
            ptx=_architectures(evidence.ptx) if evidence else (),
        )

    @property
    def built_for(self) -> BuiltFor:
        """Content of their label."""
        return BuiltFor.of_installed(self.exact_version).with_torch(self.torch)

    @property
    def label(self) -> Label | None:
        """CUDA and torch that their label names in any form; None if it names no single release of CUDA."""
        return self.built_for.label

    @property
    def needs_exact_pin(self) -> bool:
        """True if a pin of the version alone may take a wheel for another CUDA: no tree has them alone."""
        return self.label is None and self.exact_version != self.version

    @property
    def folder(self) -> str:
        """Folder of the project list of their narrowest tree."""
        return list_folder(self.label)


# An index has thousands of wheels with few different versions, tags and architectures.


@cache
def version_before_label(exact_version: str) -> str:
    """Return the version without its label: ``2.8.3``, with an upstream local version only before a label of ours.

    `exact_version` is spelled as in a pin: equal versions may be written differently, such as 1.0 and 1.0.0.
    """
    public, _, local = exact_version.partition("+")
    if label := Label.parse(local):
        return exact_version.removesuffix(str(label)).rstrip("+.")
    return exact_version if BuiltFor.parse(local) == BuiltFor() else public


@cache
def platform_of(tags: frozenset[Tag]) -> tuple[str, str | None]:
    """Return ``linux_x86_64`` for every kind of Linux with glibc, else the tag; and the oldest glibc promised."""
    names = sorted({tag.platform for tag in tags})
    glibc = max((promised for name in names if (promised := promised_glibc(name))), default=None)
    platform = None if names[0].startswith("musllinux") else Platform.of_tag(names[0])
    return str(platform or names[0]), str(glibc) if glibc else None


@cache
def _architectures(codes: tuple[str, ...]) -> tuple[Architecture, ...]:
    return tuple(sorted(map(Architecture.of_code, codes)))


class SiteWheel(Struct, frozen=True, gc=False):
    """Wheel with its Pythons; constructed as quickly as its `IndexFile`."""

    file: IndexFile
    pythons: Pythons

    @property
    def build_seconds(self) -> float | None:
        """Seconds that its build took; None if it was built elsewhere."""
        made = provenance_of(self.file)
        return made.seconds if made else None


@dataclass(frozen=True, kw_only=True)
class WheelGroup:
    """Wheels of one project that differ in Python only."""

    kind: Kind
    wheels: tuple[SiteWheel, ...]
    """The oldest Python first."""

    @property
    def pythons(self) -> tuple[Pythons, ...]:
        """Pythons of the wheels."""
        return tuple(wheel.pythons for wheel in self.wheels)

    @property
    def requires_dist(self) -> tuple[str, ...]:
        """Requirements in METADATA, the same in all wheels of one version."""
        return next((wheel.file.requires_dist for wheel in self.wheels), ())

    @property
    def planned_torch(self) -> TorchNeed | None:
        """Torch that they were built for; METADATA admits less if upstream has bounds of its own."""
        made = provenance_of(self.wheels[0].file)
        return made.torch if made else self.kind.torch


Groups = Mapping[ProjectName, Sequence[WheelGroup]]
"""Groups of every project; the newest version first."""


def wheel_groups(files: Iterable[IndexFile]) -> tuple[WheelGroup, ...]:
    """Sort the wheels of one project: the newest version first, then any torch, then the newest, then the newest CUDA.

    Of wheels that differ only in build number, the highest stands for all: installers take that one.
    """
    newest: dict[tuple[object, ...], IndexFile] = {}
    for file in files:
        other = newest.setdefault((file.name.version, file.name.tags), file)
        if other.name.build < file.name.build:
            newest[file.name.version, file.name.tags] = file
    of_traits: dict[tuple[object, ...], list[SiteWheel]] = defaultdict(list)
    for file in newest.values():
        if pythons := pythons_of(file.name.tags):
            # Traits decide the kind and compare faster; the version is as written: 1.0 and 1.0.0 have own pages.
            version, platform = written_parts(file.filename)[1], platform_of(file.name.tags)
            traits = (version, platform, file.requires_dist, evidence_of(file))
            of_traits[traits].append(SiteWheel(file, pythons))
    alike: dict[Kind, list[SiteWheel]] = defaultdict(list)
    for wheels in of_traits.values():
        alike[Kind.of(wheels[0].file)] += wheels
    for wheels in alike.values():
        wheels.sort(key=lambda wheel: (*order_of(wheel.pythons), wheel.file.filename))
    groups = [WheelGroup(kind=kind, wheels=tuple(wheels)) for kind, wheels in alike.items()]
    return tuple(sorted(groups, key=_by_age, reverse=True))


def _by_age(group: WheelGroup) -> tuple[object, ...]:
    kind = group.kind
    cuda = kind.label.cuda if kind.label else None
    rest = (kind.platform, kind.glibc or "", kind.sass, kind.ptx)
    exact = group.wheels[0].file.name.version
    return (Version(kind.version), age_of(kind.torch), cuda is not None, cuda, exact, *rest)


def list_folder(label: Label | None) -> str:
    """Return the folder of the project list of the narrowest tree for a label."""
    return f"{label.trees[-1]}/simple" if label else "simple"


UNLABELLED = "wheels"
"""Folder of wheels without a label; every label has a number."""


def package_folder(project: ProjectName) -> str:
    """Return the folder of a package's pages: ``packages/flash-attn/``."""
    return f"packages/{project}/"


def wheels_folder(version: str, exact_version: str) -> str:
    """Return the folder of wheels with one label, below that of their version: ``cu128torch2.8/``."""
    return f"{exact_version.removeprefix(version).lstrip('+.') or UNLABELLED}/"


def wheel_anchor(file: IndexFile) -> str:
    """Return the build number and tags of a wheel, which are unique within its version."""
    return written_parts(file.filename)[2]


def page_number(number: int) -> str:
    """Return the folder of a further page; empty for the first."""
    return f"page-{number}/" if number > 1 else ""


def parts_of(items: Sequence[Item], most: int) -> Sequence[Sequence[Item]]:
    """Split items into those of one page after another; one empty part if there are none."""
    return [items[first : first + most] for first in range(0, max(len(items), 1), most)]


def in_url(path: str) -> str:
    """Quote a path for links: object stores take ``+`` for a space."""
    return quote(path, safe="/!")
