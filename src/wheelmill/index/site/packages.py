"""What the pages of packages show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

from wheelmill.config.model import StatusEntry
from wheelmill.index.site.coverage import Coverage, Grid, grids_of
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.index.tree import Catalogue, IndexFile, Site
from wheelmill.names import CudaVersion, ProjectName, StableTorch, TorchVersion
from wheelmill.wheel.torch_need import age_of, words_for


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


def span(versions: Sequence[object]) -> str:
    """``2.8 to 2.11``: the first and the last."""
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def package_page(
    project: ProjectName, site: Site, groups: Sequence[WheelGroup], coverage: Coverage, catalogue: Catalogue | None
) -> PackagePage:
    """Gather what one page shows.

    Args:
        project: the normalized name of the package.
        site: the index, for the project's status and its yanked wheels.
        groups: its wheels that are not yanked.
        coverage: the planned and published cells of every package.
        catalogue: the configured packages; None where wheels are all that is known.
    """
    package = catalogue.packages.get(project) if catalogue else None
    numbers = {group.kind.version for group in groups} | {version for name, version in coverage if name == project}
    return PackagePage(
        name=project,
        description=package.description if package else "",
        licence=package.licence if package else None,
        status=site.status_of(project),
        versions=tuple(
            VersionSection(number=number, groups=own, grids=grids_of(project, number, own, coverage))
            for number in sorted(numbers, key=Version, reverse=True)
            for own in [tuple(group for group in groups if group.kind.version == number)]
        ),
        yanked=tuple(file for file in site.projects.get(project, ()) if file.yanked is not None),
    )
