"""Contents of the pages of packages, and how to install each from this index.

pip takes the highest version of all its indexes, uv the first index with the name. So an installer may
search both for a package only if the package index has it from the same home. Any other is from this index alone.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.config.model.files import StatusEntry
from wheelmill.config.model.package import NameElsewhere, Package, Topic
from wheelmill.config.model.package_parts import with_suffix
from wheelmill.index.site.coverage import Coverage, Outcomes, platform_order, platform_title
from wheelmill.index.site.wheels import Groups, SiteWheel, Trees, WheelGroup, version_before_label
from wheelmill.index.tree import Catalogue, IndexFile, Site, VersionFiles
from wheelmill.names import (
    TORCH,
    CudaVersion,
    Platform,
    ProjectName,
    StableTorch,
    TorchNeed,
    TorchVersion,
    read_requirement,
)
from wheelmill.wheel.label import age_of, words_for
from wheelmill.wheel.platforms import BUILT_FOR


def dependencies_of(requires_dist: tuple[str, ...], here: Container[ProjectName]) -> tuple[str, ...]:
    """Return requirements for the package index: not projects `here`, nor torch, which is chosen before a wheel."""
    required = _requirements_of(requires_dist)
    return tuple(text for name, text in required if name not in here)


@cache  # an index has thousands of wheels that require the same
def _requirements_of(requires_dist: tuple[str, ...]) -> tuple[tuple[ProjectName, str], ...]:
    """Return the requirements in METADATA, each with its project, except torch and those for an extra."""
    requirements = []
    for text in requires_dist:
        with suppress(ValueError):  # wheels built elsewhere may have invalid ones
            required = read_requirement(text)
            name = canonicalize_name(required.name)
            if name != TORCH and "extra" not in str(required.marker or ""):
                # Hatch, IPython and uv put values in place of braces, which URLs do not have (RFC 3986).
                requirements.append((name, str(required).replace("{", "%7B").replace("}", "%7D")))
    return tuple(requirements)


def names_elsewhere(packages: Mapping[ProjectName, Package]) -> Mapping[ProjectName, NameElsewhere]:
    """Return what the package index has under the names of packages, as far as their entries name it."""
    return {name: package.elsewhere for name, package in packages.items() if package.elsewhere}


class TorchSource(NamedTuple):
    """Torch for the CUDA of a wheel, where PyPI has another build."""

    requirement: str
    url: str
    """The simple index that has it."""


def torch_source(torch: TorchVersion, cuda: CudaVersion, platform: Platform, known: Catalogue) -> TorchSource | None:
    """Find the index of torch for a CUDA; None if installers find it without."""
    url = known.torch_url(torch, cuda, platform)
    return TorchSource(f"torch{torch.pin}", url) if url else None


def torches_in(needed: TorchNeed | None, cuda: CudaVersion | None, trees: Trees) -> Sequence[TorchVersion]:
    """Return the torches with a tree for a CUDA that are in a range; none if no range is needed."""
    return (
        [torch for torch in trees.get(cuda, ()) if torch in needed] if cuda and isinstance(needed, StableTorch) else []
    )


def torch_source_of(
    cuda: CudaVersion | None, needed: TorchNeed | None, platform: str, trees: Trees, known: Catalogue
) -> TorchSource | None:
    """Find the index of the newest torch that wheels serve; those for any platform are shown for the first one."""
    torch = needed if isinstance(needed, TorchVersion) else max(torches_in(needed, cuda, trees), default=None)
    return torch_source(torch, cuda, Platform.of_tag(platform) or BUILT_FOR[0], known) if cuda and torch else None


def install_command(
    requirement: str, pin: str, *, is_shared: bool, dependencies: Iterable[str] = (), torch: TorchSource | None = None
) -> str:
    """Return the pip commands that install a project; ``ADDRESS`` stands for the index with the wheels.

    Args:
        requirement: the project, ``flash-attn``, or a pin of a version or of a label.
        pin: a pin of a label, which versions elsewhere lack, for projects to be taken from this index alone.
        is_shared: whether the package index has the project, too, and all that it needs of this one.
        dependencies: the wheels' requirements for the package index.
        torch: installed first, from its own index.
    """
    first = [f"pip install --index-url {shlex.quote(torch.url)} {shlex.quote(torch.requirement)}"] if torch else []
    if is_shared:
        project = requirement.partition("==")[0]
        command = f"pip install --extra-index-url ADDRESS --only-binary {project} {shlex.quote(requirement)}"
        return "\n".join([*first, command])
    first += [f"pip install {shlex.join(texts)}"] if (texts := list(dependencies)) else []
    return "\n".join([*first, f"pip install --index-url ADDRESS --no-deps {shlex.quote(pin)}"])


def required_here(
    groups: Groups, packages: Mapping[ProjectName, Package]
) -> Mapping[ProjectName, tuple[ProjectName, ...]]:
    """Return the projects of this index that each needs, directly or not; `packages` knows before there is a wheel."""
    direct = {name: dict.fromkeys(package.requires) for name, package in packages.items()}
    for project, of_project in groups.items():
        named = (name for group in of_project for name, _ in _requirements_of(group.requires_dist))
        direct.setdefault(project, {}).update((name, None) for name in named if name in groups and name != project)
    return {name: found for name in direct if (found := _beneath(name, direct))}


def _beneath(name: ProjectName, direct: Mapping[ProjectName, Iterable[ProjectName]]) -> tuple[ProjectName, ...]:
    """Return what a project requires, at whatever distance, also in a cycle."""
    reached = [name]
    for project in reached:  # grows in the loop
        reached += [required for required in direct.get(project, ()) if required not in reached]
    return tuple(reached[1:])


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
    """Wheels of one project, without yanked ones."""

    groups: tuple[WheelGroup, ...]
    """The newest version first."""

    @cached_property
    def wheels(self) -> tuple[SiteWheel, ...]:
        """Wheels of all groups."""
        return tuple(wheel for group in self.groups for wheel in group.wheels)

    @cached_property
    def size(self) -> int:
        """Bytes of all wheels."""
        return sum(wheel.file.size for wheel in self.wheels)

    @cached_property
    def build_seconds(self) -> float:
        """Total seconds of all builds, without wheels built elsewhere."""
        return sum(wheel.build_seconds or 0 for wheel in self.wheels)

    @cached_property
    def updated_at(self) -> datetime | None:
        """Publication time of the newest wheel."""
        return max((wheel.file.uploaded_at for wheel in self.wheels if wheel.file.uploaded_at), default=None)

    @cached_property
    def cudas(self) -> tuple[CudaVersion, ...]:
        """CUDA releases with wheels, ascending."""
        return tuple(sorted({label.cuda for group in self.groups if (label := group.kind.label)}))

    @cached_property
    def torches(self) -> tuple[str, ...]:
        """Torches that wheels need: ``torch 2.6, 2.8 to 2.11``, and every range, ``any torch from 2.10``."""
        needed = sorted({group.kind.torch for group in self.groups}, key=age_of)
        exact = [torch for torch in needed if isinstance(torch, TorchVersion)]
        ranges = [words_for(torch) for torch in needed if isinstance(torch, StableTorch)]
        return (*([f"torch {runs_of(exact)}"] if exact else []), *ranges)

    @cached_property
    def platforms(self) -> tuple[str, ...]:
        """Platforms with wheels, Linux first, by their names for people."""
        return tuple(map(platform_title, sorted({group.kind.platform for group in self.groups}, key=platform_order)))


@dataclass(frozen=True, kw_only=True)
class PackageVersion(Wheels):
    """Version of a package."""

    number: str
    planned: Outcomes
    files: Mapping[str, Sequence[IndexFile]]
    """By their exact version every wheel of it, also those that are yanked or that another build takes the place of."""

    @property
    def yanked(self) -> Mapping[tuple[str, str], int]:
        """Number of yanked wheels, by their exact version and the reason."""
        return Counter(
            (exact, file.yanked) for exact, files in self.files.items() for file in files if file.yanked is not None
        )


@dataclass(frozen=True, kw_only=True)
class PackagePage(Wheels):
    """Package with its published and planned wheels."""

    name: ProjectName
    description: str
    licence: str | None
    redistributable: bool
    """True if its licence permits distributing the wheels."""
    tags: tuple[Topic, ...]
    elsewhere: NameElsewhere | None
    """Project under its name on the package index; None if unknown."""
    requires: tuple[ProjectName, ...]
    """Projects of this index that it needs beside it."""
    is_shared: bool
    """True if the package index has it and its requirements, all from the same home: then an installer may look there,
    too."""
    dependencies: tuple[str, ...]
    """Requirements of its newest wheels on the package index."""
    aliases: tuple[str, ...]
    """Other names for its wheels, with the CUDA major: ``demo-cu13``, ``demo-gpu[cuda13]``."""
    status: StatusEntry
    versions: tuple[PackageVersion, ...]
    """The newest first."""

    @cached_property
    def newest(self) -> PackageVersion | None:
        """Newest version with wheels; None if there are none."""
        return next((version for version in self.versions if version.groups), None)


def by_topic(packages: Sequence[PackagePage]) -> Mapping[str, Sequence[PackagePage]]:
    """Group packages by the titles of their first tags; those without a tag are the rest."""
    titled = {title: [each for each in packages if each.tags[:1] == (topic,)] for topic, title in _TITLES.items()}
    rest = {"Others": [each for each in packages if not each.tags]}
    return {title: those for title, those in {**titled, **rest}.items() if those}


def runs_of(torches: Sequence[TorchVersion]) -> str:
    """Format ascending releases; consecutive ones by the first and the last: ``2.6, 2.8 to 2.11``."""
    runs: list[list[TorchVersion]] = []
    for torch in torches:
        last = runs[-1][-1] if runs else None
        if last == TorchVersion(torch.major, torch.minor - 1) and not torch.is_candidate:
            runs[-1].append(torch)
        else:
            runs.append([torch])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def package_pages(
    site: Site, groups: Groups, coverage: Coverage, packages: Mapping[ProjectName, Package]
) -> Iterator[PackagePage]:
    """Gather the contents of the pages of packages; `groups` excludes yanked wheels, which `site` has."""
    required, elsewhere = required_here(groups, packages), names_elsewhere(packages)
    for project, of_project in groups.items():
        package = packages.get(project)
        requires = required.get(project, ())
        yield PackagePage(
            name=project,
            description=package.description if package else "",
            licence=package.licence if package else None,
            redistributable=package.redistributable if package else True,
            tags=package.tags if package else (),
            elsewhere=elsewhere.get(project),
            requires=requires,
            is_shared=all(elsewhere.get(each) == "same" for each in (project, *requires)),
            dependencies=dependencies_of(of_project[0].requires_dist, groups) if of_project else (),
            aliases=_aliases_of(package, of_project),
            status=site.status_of(project),
            groups=tuple(of_project),
            versions=tuple(_versions(site.trees[0].versions.get(project, ()), of_project, coverage.get(project, {}))),
        )


def _aliases_of(package: Package | None, groups: Iterable[WheelGroup]) -> tuple[str, ...]:
    majors = sorted({label.cuda.major for group in groups if (label := group.kind.label)})
    if package is None or package.aliases is None:
        return ()
    extras = [f"{package.aliases.extras}[cuda{major}]" for major in majors if package.aliases.extras]
    return (*(with_suffix(package.name, major) for major in majors), *extras)


def _versions(
    labels: Iterable[VersionFiles], groups: Iterable[WheelGroup], planned: Mapping[str, Outcomes]
) -> Iterator[PackageVersion]:
    """Yield the versions that have or will have wheels, the newest first."""
    groups_of: dict[str, list[WheelGroup]] = {version: [] for version in planned}
    files_of: dict[str, dict[str, Sequence[IndexFile]]] = defaultdict(dict)
    for group in groups:
        groups_of.setdefault(group.kind.version, []).append(group)
    for label in labels:
        of_version = files_of[version_before_label(exact := str(label.name.version))]
        of_version[exact] = (*of_version.get(exact, ()), *label.files)
    for number in sorted(groups_of.keys() | files_of.keys(), key=Version, reverse=True):
        yield PackageVersion(
            number=number,
            groups=tuple(groups_of.get(number, ())),
            files=files_of.get(number, {}),
            planned=planned.get(number, {}),
        )
