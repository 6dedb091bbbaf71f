"""The matrix: packages x versions x Pythons x CUDAs x torches x platforms, less what cannot or need not be built.

Every cell without a target has its obstacle: a rule of a package, a fact about CUDA or torch, a published wheel, or a
required package that is neither published nor planned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Final

from packaging.version import Version

from wheelmill.config.model import (
    ArchitectureRule,
    Compatibility,
    Config,
    CudaRelease,
    GitSource,
    Lock,
    LockedSdist,
    Package,
    Part,
)
from wheelmill.errors import UsageError
from wheelmill.names import (
    Architecture,
    CudaVersion,
    ProjectName,
    PythonVersion,
    ReleaseTag,
    StableTorch,
    TorchNeed,
    TorchVersion,
)
from wheelmill.plan.targets import BuildTarget, Cell, Channel, FailureOf, Filters, Obstacle, Plan, Skip
from wheelmill.system.progress import number_of


def find_obstacle(cell: Cell, package: Package, compatibility: Compatibility) -> Skip | None:
    """Say why a cell cannot have a wheel; None when it can."""
    for obstacle, look in _LOOKS.items():
        if reason := look(cell, package, compatibility):
            return Skip(cell=cell, obstacle=obstacle, reason=reason)
    return None


def source_obstacle(cell: Cell, package: Package, lock: Lock) -> Skip | None:
    """Say that the source of a cell is for other Pythons, or that there is no commit to build."""
    match lock.source_of(package, cell.version):
        case LockedSdist() as sdist if not sdist.is_for(cell.python):
            reason = f"{cell.project} {cell.version} requires Python {sdist.requires_python}"
            return Skip(cell=cell, obstacle=Obstacle.REQUIRES_PYTHON, reason=reason)
        case None if isinstance(package.source, GitSource):
            reason = f"not locked; a maintainer's 'wheelmill config lock {cell.project}' does that"
            return Skip(cell=cell, obstacle=Obstacle.NOT_LOCKED, reason=reason)
        case _:
            return None


def torch_obstacle(cell: Cell, filters: Filters, compatibility: Compatibility) -> Skip | None:
    """Say that a wheel for a range of torches serves none of those that were asked for."""
    if not filters.torches or not isinstance(cell.torch, StableTorch):
        return None
    served = compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
    if not set(served).isdisjoint(filters.torches):
        return None
    reason = f"its wheel for CUDA {cell.cuda} serves torch {', '.join(map(str, served))} only"
    return Skip(cell=cell, obstacle=Obstacle.NO_TORCH, reason=reason)


def window_for(package: Package, filters: Filters) -> Part:
    """What is built of a package by default, on the axes that the filters leave open."""
    return replace(
        package.window,
        python=None if filters.pythons else package.window.python,
        cuda=None if filters.cudas else package.window.cuda,
        torch=None if filters.torches or filters.channel is Channel.RC else package.window.torch,
        platform=None if filters.platforms else package.window.platform,
    )


def default_obstacle(cell: Cell, window: Part) -> Skip | None:
    """Say what is built by default, if a cell is outside that window."""
    if (axis := _outside(window, cell)) is None:
        return None
    reason = f"built for {axis} unless another is asked for"
    return Skip(cell=cell, obstacle=Obstacle.NOT_BY_DEFAULT, reason=reason)


def architectures_for(package: Package, cell: Cell, compatibility: Compatibility) -> tuple[Architecture, ...]:
    """The GPU architectures that a cell is compiled for: those of the package that its CUDA knows.

    Where the CUDA is older than all that are wanted with PTX, the newest that it knows gets PTX, so that the wheel runs
    on later GPUs all the same.
    """
    wanted = _listed_architectures(package, cell)
    known = tuple(each for each in wanted if each.capability in compatibility.cuda[cell.cuda].architectures)
    forward = [each for each in known if not each.feature]  # PTX with features runs on nothing later
    if not forward or any(each.ptx for each in known) or not any(each.ptx for each in wanted):
        return known
    newest = max(forward)
    return tuple(replace(each, ptx=True) if each == newest else each for each in known)


def _listed_architectures(package: Package, cell: Cell) -> tuple[Architecture, ...]:
    """The list of a package for a cell, whatever its CUDA knows; nothing where no rule of the package is for it."""
    listed = [each for each in package.architectures if isinstance(each, Architecture)]
    rules = (each for each in package.architectures if isinstance(each, ArchitectureRule))
    return tuple(listed) or next((rule.list for rule in rules if _outside(rule, cell) is None), ())


def _unknown_value(cell: Cell, _package: Package, compatibility: Compatibility) -> str | None:
    return compatibility.why_unknown(cell.torch, cell.cuda, cell.platform, cell.python)


def _unlicensed(_cell: Cell, package: Package, _compatibility: Compatibility) -> str | None:
    if package.redistributable:
        return None
    return f"its licence ({package.licence or 'not stated'}) does not let others be given the wheel"


def _unwanted(cell: Cell, package: Package, _compatibility: Compatibility) -> str | None:
    if package.abi == "abi3" and cell.python.free_threaded:
        return "free-threaded Python does not load abi3 wheels"
    if (axis := _outside(package.scope, cell)) is not None:
        return f"its entry is for {axis} only"
    for rule in package.exclude:
        if _outside(rule, cell) is None:
            return rule.explained
    return None


def _unpublished(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    if isinstance(cell.torch, StableTorch):
        served = compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
        where = f"for CUDA {cell.cuda} on {cell.platform} and Python {cell.python}"
        return None if served else f"no torch{cell.torch} is published {where}"
    if cell.torch is None or (package.include and any(_outside(rule, cell) is None for rule in package.include)):
        return None
    return compatibility.why_unpublished(cell.torch, cell.cuda, cell.platform, cell.python)


def _uncompilable(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    listed = _listed_architectures(package, cell)
    known = compatibility.cuda[cell.cuda].architectures
    if any(each.capability in known for each in listed):
        return None
    if not listed:
        return f"no rule of its architectures is for CUDA {cell.cuda} on {cell.platform}"
    return f"CUDA {cell.cuda} compiles for none of its GPU architectures ({', '.join(map(str, listed))})"


_LOOKS: Final[Mapping[Obstacle, Callable[[Cell, Package, Compatibility], str | None]]] = {
    Obstacle.UNKNOWN: _unknown_value,
    Obstacle.LICENCE: _unlicensed,
    Obstacle.LEFT_OUT: _unwanted,
    Obstacle.NO_TORCH: _unpublished,
    Obstacle.NO_GPU_CODE: _uncompilable,
}
"""The checks, in the order in which they are made."""


def _outside(part: Part, cell: Cell) -> str | None:
    """The first axis that a cell is outside of, as a person reads it; None when the cell is in the part."""
    for bound in part.bounds:
        if not bound.admits(getattr(cell, bound.axis)):
            return bound.text
    return None


_FOR_SIZE: Final = "--compress-mode=size"
"""https://docs.nvidia.com/cuda/archive/12.8.0/cuda-compiler-driver-nvcc/#compress-mode-default-size-speed-balance-none-compress-mode"""


def make_plan(
    config: Config,
    filters: Filters,
    published: Mapping[Cell, ReleaseTag],
    failure_of: FailureOf = lambda _target: None,
) -> Plan:
    """Sort every cell that the filters name into targets and skips.

    Args:
        config: the packages, and the facts about what can exist.
        filters: the cells that are wanted. CUDAs, torches and Pythons that ``config`` does not know become skips that
            say so.
        published: the cells that a release already holds.
        failure_of: looks up what became of the same build before.

    Returns:
        Targets in an order in which a package comes after those that it requires.

    Raises:
        UsageError: a project, version or platform is in none of the files, or no cell is in a group.
    """
    facts = config.compatibility
    targets: list[BuildTarget] = []
    skips: list[Skip] = []
    for listed in _chosen_packages(config, filters):
        package = _as_sample(listed, filters) if filters.sample else listed
        window = window_for(package, filters)
        wanted: list[BuildTarget] = []
        for cell in _cells(package, facts, filters):
            obstacle = (
                find_obstacle(cell, package, facts)
                or source_obstacle(cell, package, config.lock)
                or torch_obstacle(cell, filters, facts)
                or default_obstacle(cell, window)
            )
            if obstacle:
                skips.append(obstacle)
            elif not (filters.force or filters.sample) and (tag := published.get(cell)):
                skips.append(Skip(cell=cell, obstacle=Obstacle.PUBLISHED, reason=f"already published in {tag}"))
            else:
                wanted.append(_target(cell, package, config, sample=filters.sample))
        if package.abi != "cpython":
            wanted, served = _share_wheels(wanted)
            skips.extend(served)
        for target in wanted:
            if not filters.force and (failure := failure_of(target)):
                when = f"failed on {failure.failed_at:%Y-%m-%d} with the same inputs"
                reason = f"{when}: {failure.reason} (--force tries again)"
                skips.append(Skip(cell=target.cell, obstacle=Obstacle.FAILED, reason=reason, failure=failure))
            else:
                targets.append(target)
    known = {target.cell.group for target in targets} | {skip.cell.group for skip in skips} if filters.groups else ()
    if unknown := [group for group in filters.groups if group not in known]:
        raise UsageError(
            "group-unknown", f"there is no group {', '.join(unknown)}", hint="plan --matrix names all of them"
        )
    return Plan(targets=tuple(targets), skips=tuple(skips))


def _chosen_packages(config: Config, filters: Filters) -> list[Package]:
    config.refuse_unknown(filters.projects)
    packages = [
        package
        for package in _in_order(config)
        if not filters.projects or package.name in filters.projects
        if not filters.tags or not set(filters.tags).isdisjoint(package.tags)
    ]
    known = {version for package in packages for version in package.versions}
    if missing := [version for version in filters.versions if version not in known]:
        raise UsageError(
            "version-unknown",
            f"version {', '.join(missing)} is not in {config.file.name}",
            hint="; ".join(f"{package.name} has {', '.join(package.versions)}" for package in packages),
        )
    platforms = config.compatibility.platforms
    if foreign := [str(platform) for platform in filters.platforms if platform not in platforms]:
        raise UsageError(
            "platform-unknown",
            f"platform {', '.join(foreign)} is not in compatibility.yml",
            hint=f"it has {', '.join(map(str, platforms))}",
        )
    return [package for package in packages if filters.changed is None or package.name in filters.changed]


def _in_order(config: Config) -> Iterable[Package]:
    """The packages, each after those that it requires, otherwise as they are listed."""
    requires = {package.name: package.expectations.requires for package in config.packages.values()}
    order = TopologicalSorter(requires).static_order()
    return (config.packages[name] for name in order if name in config.packages)


def _as_sample(package: Package, filters: Filters) -> Package:
    """The package as a sample is built: whatever its licence, for the GPU architectures that were asked for."""
    return replace(package, redistributable=True, architectures=filters.architectures or package.architectures)


def _cells(package: Package, compatibility: Compatibility, filters: Filters) -> Iterator[Cell]:
    versions = [version for version in package.versions if not filters.versions or version in filters.versions]
    for version, cuda in itertools.product(versions, filters.cudas or sorted(compatibility.cuda)):
        axes = itertools.product(
            _torches(package, cuda, compatibility, filters),
            filters.platforms or compatibility.platforms,
            filters.pythons or (compatibility.torch_pythons if package.needs_torch else compatibility.pythons),
        )
        for torch, platform, python in axes:
            cell = Cell(project=package.name, version=version, python=python, cuda=cuda, torch=torch, platform=platform)
            if not filters.groups or cell.group in filters.groups:
                yield cell


def _torches(
    package: Package, cuda: CudaVersion, compatibility: Compatibility, filters: Filters
) -> Iterable[TorchNeed | None]:
    candidates = filters.channel is Channel.RC
    if package.torch_abi or not package.needs_torch:
        return () if candidates else (package.torch_abi,)
    if filters.torches or candidates:
        return filters.torches or sorted(compatibility.torch.candidates)
    if not filters.newest_torch:
        return sorted(compatibility.torch)
    chosen = newest_torch(cuda, compatibility)
    return (chosen,) if chosen else ()


def newest_torch(cuda: CudaVersion, compatibility: Compatibility) -> TorchVersion | None:
    """The torch to take for a CUDA when none was asked for; None when there is none for it.

    One whose wheel on PyPI is for that CUDA comes first, because it installs without another index.
    """
    releases = compatibility.torch
    by_default = [version for version, torch in releases.items() if torch.default_cuda == cuda]
    anywhere = [version for version, torch in releases.items() if any(cuda in cudas for cudas in torch.cuda.values())]
    return max(by_default or anywhere, default=None)


def _target(cell: Cell, package: Package, config: Config, *, sample: bool) -> BuildTarget:
    facts = config.compatibility
    torch = _torch_to_link(cell, facts)
    release = facts.torch.known(torch) if torch else None
    requirements = config.lock.requirements.get(package.name)
    cuda = facts.cuda[cell.cuda]
    loads_compressed = size_driver_for(package, cuda)
    return BuildTarget(
        cell=cell,
        package=package,
        source=config.lock.source_of(package, cell.version),
        toolkit=cuda.toolkit,
        torch_release=release.release if release else None,
        torch_backend=facts.torch_place(torch, cell.cuda, cell.platform) if torch else None,
        architectures=architectures_for(package, cell, facts),
        cxx_standard=cxx_standard_for(package, cell.torch, facts),
        nvcc_flags=((_FOR_SIZE,) if loads_compressed else ()) + package.nvcc_flags,
        driver=max(filter(None, (cuda.minimum_driver, loads_compressed)), key=Version),
        requirements=requirements.pinned if requirements else None,
        pythons=(cell.python,),
        sample=sample,
    )


def _torch_to_link(cell: Cell, compatibility: Compatibility) -> TorchVersion | None:
    """The torch that a wheel is built against: of several that it serves the oldest, whose ABI the others keep."""
    if isinstance(cell.torch, StableTorch):
        return compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)[0]
    return cell.torch


def _share_wheels(targets: Sequence[BuildTarget]) -> tuple[list[BuildTarget], list[Skip]]:
    """Let the oldest Python build an abi3 or py3-none wheel for the others of its group; their cells become skips.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/#abi-tag

    Args:
        targets: the targets of one package; those that differ only in Python stand side by side.
    """
    builders: list[BuildTarget] = []
    served: list[Skip] = []
    for _, group in itertools.groupby(targets, key=lambda target: target.cell.group):
        oldest, *others = sorted(group, key=lambda target: target.cell.python)
        pythons = tuple(target.cell.python for target in (oldest, *others))
        builders.append(replace(oldest, pythons=pythons))
        reason = f"the {oldest.package.abi} wheel that Python {oldest.cell.python} builds is for it too"
        served.extend(Skip(cell=target.cell, obstacle=Obstacle.SHARED, reason=reason) for target in others)
    return builders, served


def cxx_standard_for(package: Package, torch: TorchNeed | None, compatibility: Compatibility) -> int | None:
    """The C++ standard that a package is compiled with at least; None leaves the choice to its source.

    The headers of torch's stable ABI ask for none, whichever torch they come with.
    """
    if package.cxx_standard == "as-is":
        return None
    asked = compatibility.cxx_standard(torch) if isinstance(torch, TorchVersion) else None
    return package.cxx_standard or asked


def size_driver_for(package: Package, cuda: CudaRelease) -> str | None:
    """The oldest driver that loads GPU code which nvcc compressed for size; None where it is not asked to.

    Unless the package decides, it is asked where every driver that runs the CUDA release loads such code.
    """
    driver = cuda.size_driver
    if driver is None or package.compress == "as-is":
        return None
    return driver if package.compress or Version(driver) <= Version(cuda.minimum_driver) else None


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A required package that is neither published nor planned for cells in which another package needs it."""

    project: ProjectName
    """The package that is planned."""
    requires: ProjectName
    """The package that it requires."""
    cells: tuple[Cell, ...]
    """The cells of `project` that could be built, but not tested."""

    def __str__(self) -> str:
        """Which package lacks which, and for how many wheels."""
        count = number_of(len(self.cells), "wheel")
        beside = "there is no wheel for the same Python, CUDA and torch, published or planned"
        return f"{self.project} requires {self.requires}, of which {beside}: {count} could not be tried"


def find_missing(plan: Plan, published: Iterable[Cell]) -> tuple[Missing, ...]:
    """Name what planned wheels require and will not find when they are tried.

    Args:
        plan: its targets will be built, each after those that it requires, of other runs too.
        published: the cells that a release holds.
    """
    there: dict[tuple[ProjectName, PythonVersion], list[Cell]] = {}
    planned = (replace(target.cell, python=python) for target in plan.targets for python in target.pythons)
    for cell in itertools.chain(published, planned):
        there.setdefault((cell.project, cell.python), []).append(cell)
    lacking: dict[tuple[ProjectName, ProjectName], list[Cell]] = {}
    for target in plan.targets:
        cell = target.cell
        awaited = {other.project for other in plan.claimed if cell.is_served_by(other)}
        for required in (each for each in target.package.expectations.requires if each not in awaited):
            beside = (there.get((required, python), ()) for python in target.pythons)
            if not all(any(map(cell.is_served_by, cells)) for cells in beside):
                lacking.setdefault((cell.project, required), []).append(cell)
    return tuple(
        Missing(project=project, requires=required, cells=tuple(cells))
        for (project, required), cells in lacking.items()
    )
