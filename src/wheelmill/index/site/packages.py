"""What the pages of packages show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from packaging.version import Version

from wheelmill.config.model import NameElsewhere, StatusEntry, Topic
from wheelmill.index.site.coverage import Coverage, Grid, grids_of
from wheelmill.index.site.installing import are_shared, dependencies_of, names_elsewhere, required_here
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.index.tree import Catalogue, IndexFile, Site
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
class VersionSection:
    """One version of a package."""

    number: str
    groups: tuple[WheelGroup, ...]
    grids: tuple[Grid, ...]


@dataclass(frozen=True, kw_only=True)
class PackagePage:
    """One package: what is published of it, and what is planned."""

    name: ProjectName
    description: str
    licence: str | None
    tags: tuple[Topic, ...]
    elsewhere: NameElsewhere | None
    """What the package index has under its name; None where that is not known."""
    requires: tuple[ProjectName, ...]
    """Projects of this index that it needs beside it."""
    is_shared: bool
    """Whether the package index has it and them, all from the same home: then an installer may look there, too."""
    dependencies: tuple[str, ...]
    """What its newest wheels require of the package index."""
    status: StatusEntry
    versions: tuple[VersionSection, ...]
    """The newest first."""
    yanked: tuple[IndexFile, ...]

    @cached_property
    def groups(self) -> tuple[WheelGroup, ...]:
        """Those of all versions."""
        return tuple(group for version in self.versions for group in version.groups)

    @cached_property
    def newest(self) -> str | None:
        """The newest version that there are wheels of."""
        return next((version.number for version in self.versions if version.groups), None)

    @cached_property
    def wheel_count(self) -> int:
        """How many wheels there are."""
        return sum(len(group.wheels) for group in self.groups)

    @cached_property
    def size(self) -> int:
        """Bytes of all wheels."""
        return sum(wheel.file.size for group in self.groups for wheel in group.wheels)

    @cached_property
    def build_seconds(self) -> float:
        """What all builds took together."""
        return sum(wheel.build_seconds or 0 for group in self.groups for wheel in group.wheels)

    @cached_property
    def cudas(self) -> tuple[CudaVersion, ...]:
        """CUDA releases that there are wheels for, ascending."""
        return tuple(sorted({label.cuda for group in self.groups if (label := group.kind.label)}))

    @cached_property
    def torches(self) -> tuple[str, ...]:
        """What wheels need of torch: ``torch 2.8 to 2.11``, and every range, ``any torch from 2.10``."""
        needed = sorted({group.kind.torch for group in self.groups}, key=age_of)
        exact = [torch for torch in needed if isinstance(torch, TorchVersion)]
        ranges = [words_for(torch) for torch in needed if isinstance(torch, StableTorch)]
        return (*([f"torch {span(exact)}"] if exact else []), *ranges)


def by_topic(packages: Sequence[PackagePage]) -> Mapping[str, Sequence[PackagePage]]:
    """The packages below the titles of what they are for, each below its first tag; those without one are the rest."""
    titled = {
        title: [package for package in packages if package.tags[:1] == (topic,)] for topic, title in _TITLES.items()
    }
    rest = {"Others": [package for package in packages if not package.tags]}
    return {title: those for title, those in {**titled, **rest}.items() if those}


def span(versions: Sequence[object]) -> str:
    """``2.8 to 2.11``: the first and the last."""
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


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
    for project, of_project in groups.items():
        package = catalogue.packages.get(project) if catalogue else None
        requires = required.get(project, ())
        numbers = {group.kind.version for group in of_project} | {
            version for name, version in coverage if name == project
        }
        yield PackagePage(
            name=project,
            description=package.description if package else "",
            licence=package.licence if package else None,
            tags=package.tags if package else (),
            elsewhere=elsewhere.get(project),
            requires=requires,
            is_shared=are_shared((project, *requires), elsewhere),
            dependencies=dependencies_of(of_project[0], groups) if of_project else (),
            status=site.status_of(project),
            versions=tuple(
                VersionSection(number=number, groups=own, grids=grids_of(project, number, own, coverage))
                for number in sorted(numbers, key=Version, reverse=True)
                for own in [tuple(group for group in of_project if group.kind.version == number)]
            ),
            yanked=tuple(file for file in site.projects.get(project, ()) if file.yanked is not None),
        )
