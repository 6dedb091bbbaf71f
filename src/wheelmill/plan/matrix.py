"""Matrix of packages x versions x Pythons x CUDAs x torches x platforms, less what cannot or need not be built."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Final

from packaging.version import Version

from wheelmill.config.model.compatibility import Compatibility, CudaRelease
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Lock, LockedCommit, LockedSdist
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import ArchitectureRule, GitSource, Part, RequiresDist, Window
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
from wheelmill.wheel.metadata import admits
from wheelmill.wheel.name import ABI3T_SINCE


def find_obstacle(cell: Cell, package: Package, compatibility: Compatibility) -> Skip | None:
    """Return the skip of a cell that cannot have a wheel; None if it can."""
    if reason := compatibility.why_unknown(cell.torch, cell.cuda, cell.platform, cell.python):
        return Skip(cell=cell, obstacle=Obstacle.UNKNOWN, reason=reason)
    if not package.redistributable:
        reason = f"its licence ({package.licence or 'not stated'}) does not let others be given the wheel"
        return Skip(cell=cell, obstacle=Obstacle.LICENCE, reason=reason)
    if reason := _unwanted(cell, package):
        return Skip(cell=cell, obstacle=Obstacle.LEFT_OUT, reason=reason)
    if reason := _unpublished(cell, package, compatibility):
        return Skip(cell=cell, obstacle=Obstacle.NO_TORCH, reason=reason)
    if reason := _uncompilable(cell, package, compatibility):
        return Skip(cell=cell, obstacle=Obstacle.NO_GPU_CODE, reason=reason)
    return None


def source_obstacle(cell: Cell, package: Package, lock: Lock) -> Skip | None:
    """Return a skip if the source of a cell is for other Pythons, torches or CUDAs, or has no commit to build."""
    source = lock.source_of(package, cell.version)
    if source is None and isinstance(package.source, GitSource):
        reason = f"not locked; a maintainer's 'wheelmill config lock {cell.project}' does that"
        return Skip(cell=cell, obstacle=Obstacle.NOT_LOCKED, reason=reason)
    if isinstance(source, LockedSdist) and not source.is_for(cell.python):
        reason = f"{cell.project} {cell.version} requires Python {source.requires_python}"
        return Skip(cell=cell, obstacle=Obstacle.REQUIRES_PYTHON, reason=reason)
    bounds = source.requires_dist if isinstance(source, LockedSdist | LockedCommit) else None
    for requirement in (package.requires_dist or RequiresDist()).kept_of(bounds or ()):
        is_met = admits(requirement, cell.cuda, cell.torch, cell.python, cell.platform)
        if not is_met and all(_outside(rule, cell) for rule in package.include):
            reason = f"{cell.project} {cell.version} requires {requirement}"
            return Skip(cell=cell, obstacle=Obstacle.REQUIRES_DIST, reason=reason)
    return None


def torch_obstacle(cell: Cell, filters: Filters, compatibility: Compatibility) -> Skip | None:
    """Return a skip if a wheel for a range of torches serves none of the requested ones."""
    if not filters.torches or not isinstance(cell.torch, StableTorch):
        return None
    served = compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
    if not set(served).isdisjoint(filters.torches):
        return None
    reason = f"its wheel for CUDA {cell.cuda} serves torch {', '.join(map(str, served))} only"
    return Skip(cell=cell, obstacle=Obstacle.NO_TORCH, reason=reason)


def window_for(package: Package, filters: Filters) -> Window:
    """Return the part of a package to build by default, on the axes that the filters leave open."""
    if filters.everything:
        return Window()
    return replace(
        package.window,
        python=None if filters.pythons else package.window.python,
        free_threaded=bool(filters.pythons) or package.window.free_threaded,
        cuda=None if filters.cudas else package.window.cuda,
        torch=None if filters.torches or filters.channel is Channel.RC else package.window.torch,
        platform=None if filters.platforms else package.window.platform,
    )


def architectures_for(package: Package, cell: Cell, compatibility: Compatibility) -> tuple[Architecture, ...]:
    """Return the GPU architectures to compile a cell for: those of the package that its CUDA knows.

    If the CUDA is older than all wanted with PTX, its newest known one gets PTX, so that the wheel still runs on later
    GPUs.
    """
    wanted = _listed_architectures(package, cell)
    known = tuple(each for each in wanted if each.capability in compatibility.cuda[cell.cuda].architectures)
    forward = [each for each in known if not each.feature]  # PTX with features runs on nothing later
    if not forward or any(each.ptx for each in known) or not any(each.ptx for each in wanted):
        return known
    newest = max(forward)
    return tuple(replace(each, ptx=True) if each == newest else each for each in known)


def _listed_architectures(package: Package, cell: Cell) -> tuple[Architecture, ...]:
    """Return a package's architectures for a cell, whatever its CUDA knows; empty if no rule applies."""
    listed = [each for each in package.architectures if isinstance(each, Architecture)]
    rules = (each for each in package.architectures if isinstance(each, ArchitectureRule))
    return tuple(listed) or next((rule.list for rule in rules if _outside(rule, cell) is None), ())


def _unwanted(cell: Cell, package: Package) -> str | None:
    if package.abi == "abi3" and cell.python.free_threaded:
        return "free-threaded Python does not load abi3 wheels"
    if package.abi == "abi3t" and cell.python.free_threaded and cell.python < ABI3T_SINCE:
        return "abi3t, the stable ABI of free-threaded Python, begins with Python 3.15"
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


def _outside(part: Part, cell: Cell) -> str | None:
    """Return the text of the first bound that excludes a cell; None if the cell is in the part."""
    for bound in part.bounds:
        if not bound.admits(getattr(cell, bound.axis)):
            return bound.text
    return None


_FOR_SIZE: Final = "--compress-mode=size"
"""https://docs.nvidia.com/cuda/archive/12.8.0/cuda-compiler-driver-nvcc/#compress-mode-default-size-speed-balance-none-compress-mode"""


def make_plan(
    config: Config, filters: Filters, published: Mapping[Cell, ReleaseTag], failure_of: FailureOf = lambda _target: None
) -> Plan:
    """Sort every cell that the filters name into targets and skips.

    CUDAs, torches and Pythons unknown to ``config`` become skips with that reason. `failure_of` looks up an earlier
    failure of the same build. A package's targets come after those of the packages that it requires. Raises UsageError
    if a project, version or platform is in none of the files, or no cell is in a group.
    """
    facts = config.compatibility
    targets: list[BuildTarget] = []
    skips: list[Skip] = []
    for listed in _chosen_packages(config, filters):
        package = listed
        if filters.sample:  # whatever its licence
            package = replace(listed, redistributable=True, architectures=filters.architectures or listed.architectures)
        window = window_for(package, filters)
        wanted: list[BuildTarget] = []
        for cell in _cells(package, facts, filters):
            if obstacle := _obstacle(cell, package, window, filters, config):
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


def _obstacle(cell: Cell, package: Package, window: Window, filters: Filters, config: Config) -> Skip | None:
    """Return the skip of a cell that cannot be built or was not asked for; None if there is no obstacle."""
    if skip := find_obstacle(cell, package, config.compatibility):
        return skip
    if (builder := filters.builder) and not builder.has(cell.python, cell.platform):
        reason = f"{builder.name} has no Python {cell.python} for {cell.platform}"
        return Skip(cell=cell, obstacle=Obstacle.NO_BUILDER, reason=reason)
    if skip := source_obstacle(cell, package, config.lock) or torch_obstacle(cell, filters, config.compatibility):
        return skip
    if (axis := _outside(window, cell)) is not None:
        reason = f"built for {axis} unless another is asked for"
        return Skip(cell=cell, obstacle=Obstacle.NOT_BY_DEFAULT, reason=reason)
    return None


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
    """Return the packages, each after those that it requires, otherwise in the listed order."""
    requires = {package.name: package.expectations.requires for package in config.packages.values()}
    order = TopologicalSorter(requires).static_order()
    return (config.packages[name] for name in order if name in config.packages)


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
    chosen = newest_torch(cuda, compatibility) or max(compatibility.torch, default=None)  # whose skip has the reason
    return (chosen,) if chosen else ()


def newest_torch(cuda: CudaVersion, compatibility: Compatibility) -> TorchVersion | None:
    """Return the torch for a CUDA if none is requested, best one that PyPI has for it; None without any."""
    releases = compatibility.torch
    by_default = [version for version, torch in releases.items() if torch.default_cuda == cuda]
    anywhere = [version for version, torch in releases.items() if any(cuda in cudas for cudas in torch.cuda.values())]
    return max(by_default or anywhere, default=None)


def _target(cell: Cell, package: Package, config: Config, *, sample: bool) -> BuildTarget:
    facts = config.compatibility
    torch = cell.torch
    if isinstance(torch, StableTorch):  # the oldest that it serves, since the others keep its ABI
        torch = facts.torches_in(torch, cell.cuda, cell.platform, cell.python)[0]
    release = facts.torch.known(torch) if torch else None
    requirements = config.lock.requirements.get(package.name)
    cuda = facts.cuda[cell.cuda]
    loads_compressed = _size_driver_for(package, cuda)
    return BuildTarget(
        cell=cell,
        package=package,
        source=config.lock.source_of(package, cell.version),
        toolkit=cuda.toolkit,
        torch_release=release.release if release else None,
        torch_backend=facts.torch_place(torch, cell.cuda, cell.platform) if torch else None,
        architectures=architectures_for(package, cell, facts),
        cxx_standard=_cxx_standard_for(package, cell.torch, facts),
        nvcc_flags=((_FOR_SIZE,) if loads_compressed else ()) + package.nvcc_flags,
        driver=max(filter(None, (cuda.minimum_driver, loads_compressed)), key=Version),
        requirements=requirements.pinned if requirements else None,
        pythons=(cell.python,),
        sample=sample,
    )


def _share_wheels(targets: Sequence[BuildTarget]) -> tuple[list[BuildTarget], list[Skip]]:
    """Let the oldest Python of an ABI build the wheel for the others of its group; their cells become skips.

    Free-threaded Pythons have a stable ABI of their own. Targets of one package that differ only in Python must be
    adjacent.
    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/#abi-tag
    """
    builders: list[BuildTarget] = []
    served: list[Skip] = []
    for _, group in itertools.groupby(targets, key=lambda target: target.cell.group):
        by_abi = sorted(group, key=lambda target: (target.abi, target.cell.python))
        for abi, alike in itertools.groupby(by_abi, key=lambda target: target.abi):
            oldest, *others = alike
            builders.append(replace(oldest, pythons=tuple(target.cell.python for target in (oldest, *others))))
            reason = f"the {abi} wheel that Python {oldest.cell.python} builds is for it too"
            served.extend(Skip(cell=target.cell, obstacle=Obstacle.SHARED, reason=reason) for target in others)
    return builders, served


def _cxx_standard_for(package: Package, torch: TorchNeed | None, compatibility: Compatibility) -> int | None:
    """Return the minimum C++ standard; None if the source decides. The headers of torch's stable ABI ask for none."""
    if package.cxx_standard == "as-is":
        return None
    return package.cxx_standard or (compatibility.cxx_standard(torch) if isinstance(torch, TorchVersion) else None)


def _size_driver_for(package: Package, cuda: CudaRelease) -> str | None:
    """Return the oldest driver that loads GPU code compressed for size; None if nvcc does not compress for size."""
    driver = cuda.size_driver
    if driver is None or package.compress == "as-is":
        return None
    every_driver_loads_it = Version(driver) <= Version(cuda.minimum_driver)
    return driver if package.compress or every_driver_loads_it else None


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Required package that is neither published nor planned for cells of its dependent."""

    project: ProjectName
    requires: ProjectName
    cells: tuple[Cell, ...]
    """The cells of `project` that could be built, but not tested."""

    def __str__(self) -> str:
        """Name both packages and the number of wheels."""
        count = number_of(len(self.cells), "wheel")
        beside = "there is no wheel for the same Python, CUDA and torch, published or planned"
        return f"{self.project} requires {self.requires}, of which {beside}: {count} could not be tried"


def find_missing(plan: Plan, published: Iterable[Cell]) -> tuple[Missing, ...]:
    """Name the requirements of planned wheels that neither published wheels nor this or another run will meet."""
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
