"""What the pages of packages show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from packaging.version import Version

from wheelmill.config.model import NameElsewhere, Package, StatusEntry, Topic, with_suffix
from wheelmill.index.site.coverage import Coverage, platform_order, platform_title
from wheelmill.index.site.installing import are_shared, dependencies_of, names_elsewhere, required_here
from wheelmill.index.site.wheels import WheelGroup, version_before_label
from wheelmill.index.tree import Catalogue, IndexFile, Site, VersionFiles
from wheelmill.names import CudaVersion, ProjectName, StableTorch, TorchVersion
from wheelmill.wheel.torch_need import age_of, words_for

_TITLES: Final[Mapping[Topic, str]] = {
    "attention": "Attention",
    "state-space": "State space",
    "graph": "Graphs",
    "3d": "3D",
    "quantization": "Quantization",
    "inference": "Inference",
    "moe": "Mixture of experts",
    "communication": "Communication",
    "training": "Training",
}


@dataclass(frozen=True, kw_only=True)
class Wheels:
    """Wheels of one project, without those that are yanked."""

    groups: tuple[WheelGroup, ...]
    """The newest version first."""

    @cached_property
    def wheel_count(self) -> int:
        """How many wheels there are."""
        return sum(len(group.wheels) for group in self.groups)

    @cached_property
    def size(self) -> int:
        """Bytes of all wheels."""
        return sum(group.size for group in self.groups)

    @cached_property
    def build_seconds(self) -> float:
        """What all builds took together."""
        return sum(group.build_seconds for group in self.groups)

    @cached_property
    def updated_at(self) -> datetime | None:
        """When the newest of them was published."""
        return max((moment for group in self.groups if (moment := group.uploaded_at)), default=None)

    @cached_property
    def cudas(self) -> tuple[CudaVersion, ...]:
        """CUDA releases that there are wheels for, ascending."""
        return tuple(sorted({label.cuda for group in self.groups if (label := group.kind.label)}))

    @cached_property
    def torches(self) -> tuple[str, ...]:
        """What wheels need of torch: ``torch 2.6, 2.8 to 2.11``, and every range, ``any torch from 2.10``."""
        needed = sorted({group.kind.torch for group in self.groups}, key=age_of)
        exact = [torch for torch in needed if isinstance(torch, TorchVersion)]
        ranges = [words_for(torch) for torch in needed if isinstance(torch, StableTorch)]
        return (*([f"torch {runs_of(exact)}"] if exact else []), *ranges)

    @cached_property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that there are wheels for, Linux first, by their names for people."""
        return tuple(map(platform_title, sorted({group.kind.platform for group in self.groups}, key=platform_order)))


@dataclass(frozen=True, kw_only=True)
class PackageVersion(Wheels):
    """One version of a package."""

    number: str
    files: Mapping[str, Sequence[IndexFile]]
    """By their exact version every wheel of it, also those that are yanked or that another build takes the place of."""

    @property
    def yanked(self) -> Mapping[tuple[str, str], int]:
        """How many wheels are yanked, by their exact version and the reason."""
        return Counter(
            (exact, file.yanked) for exact, files in self.files.items() for file in files if file.yanked is not None
        )


@dataclass(frozen=True, kw_only=True)
class PackagePage(Wheels):
    """One package: what is published of it, and what is planned."""

    name: ProjectName
    description: str
    licence: str | None
    redistributable: bool
    """Whether its licence lets others be given the wheels."""
    tags: tuple[Topic, ...]
    elsewhere: NameElsewhere | None
    """What the package index has under its name; None where that is not known."""
    requires: tuple[ProjectName, ...]
    """Projects of this index that it needs beside it."""
    is_shared: bool
    """Whether the package index has it and them, all from the same home: then an installer may look there, too."""
    dependencies: tuple[str, ...]
    """What its newest wheels require of the package index."""
    aliases: tuple[str, ...]
    """Other names for its wheels, which say the CUDA major: ``demo-cu13``, ``demo-gpu[cuda13]``."""
    status: StatusEntry
    versions: tuple[PackageVersion, ...]
    """The newest first."""

    @cached_property
    def newest(self) -> str | None:
        """The newest version that there are wheels of."""
        return next((version.number for version in self.versions if version.groups), None)


def by_topic(packages: Sequence[PackagePage]) -> Mapping[str, Sequence[PackagePage]]:
    """The packages below the titles of what they are for, each below its first tag; those without one are the rest."""
    titled = {
        title: [package for package in packages if package.tags[:1] == (topic,)] for topic, title in _TITLES.items()
    }
    rest = {"Others": [package for package in packages if not package.tags]}
    return {title: those for title, those in {**titled, **rest}.items() if those}


def runs_of(torches: Sequence[TorchVersion]) -> str:
    """``2.6, 2.8 to 2.11``: of releases, ascending, that follow one another, the first and the last."""
    runs: list[list[TorchVersion]] = []
    for torch in torches:
        last = runs[-1][-1] if runs else None
        if last == TorchVersion(torch.major, torch.minor - 1) and not torch.is_candidate:
            runs[-1].append(torch)
        else:
            runs.append([torch])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def package_pages(
    site: Site,
    groups: Mapping[ProjectName, Sequence[WheelGroup]],
    coverage: Coverage,
    catalogue: Catalogue | None,
) -> Iterator[PackagePage]:
    """Gather what the pages of packages show.

    Args:
        site: the index, for the status and the yanked wheels of projects.
        groups: the wheels of each project that are not yanked.
        coverage: the planned and published cells of every package.
        catalogue: the configured packages; None where wheels are all that is known.
    """
    required, elsewhere = required_here(groups, catalogue), names_elsewhere(catalogue)
    planned: dict[ProjectName, set[str]] = defaultdict(set)
    for name, version in coverage:
        planned[name].add(version)
    for project, of_project in groups.items():
        package = catalogue.packages.get(project) if catalogue else None
        requires = required.get(project, ())
        yield PackagePage(
            name=project,
            description=package.description if package else "",
            licence=package.licence if package else None,
            redistributable=package.redistributable if package else True,
            tags=package.tags if package else (),
            elsewhere=elsewhere.get(project),
            requires=requires,
            is_shared=are_shared((project, *requires), elsewhere),
            dependencies=dependencies_of(of_project[0].requires_dist, groups) if of_project else (),
            aliases=_aliases_of(package, of_project),
            status=site.status_of(project),
            groups=tuple(of_project),
            versions=tuple(_versions(site.trees[0].versions.get(project, ()), of_project, planned[project])),
        )


def _aliases_of(package: Package | None, groups: Iterable[WheelGroup]) -> tuple[str, ...]:
    majors = sorted({label.cuda.major for group in groups if (label := group.kind.label)})
    if package is None or package.aliases is None:
        return ()
    extras = [f"{package.aliases.extras}[cuda{major}]" for major in majors if package.aliases.extras]
    return (*(with_suffix(package.name, major) for major in majors), *extras)


def _versions(
    labels: Iterable[VersionFiles], groups: Iterable[WheelGroup], planned: Iterable[str]
) -> Iterator[PackageVersion]:
    """Those that have wheels or will have some, the newest first."""
    groups_of: dict[str, list[WheelGroup]] = {version: [] for version in planned}
    files_of: dict[str, dict[str, Sequence[IndexFile]]] = defaultdict(dict)
    for group in groups:
        groups_of.setdefault(group.kind.version, []).append(group)
    for label in labels:
        of_version = files_of[version_before_label(exact := str(label.name.version))]
        of_version[exact] = (*of_version.get(exact, ()), *label.files)
    for number in sorted(groups_of.keys() | files_of.keys(), key=Version, reverse=True):
        yield PackageVersion(number=number, groups=tuple(groups_of.get(number, ())), files=files_of.get(number, {}))
