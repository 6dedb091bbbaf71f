"""The matrix: packages x versions x Pythons x CUDAs x torches x platforms, less what cannot or need not be built."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Final

from packaging.version import Version

from wheelmill.config.model import Compatibility, Config, CudaRelease, Package
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, ReleaseTag, StableTorch, TorchNeed, TorchVersion
from wheelmill.plan.obstacles import (
    architectures_for,
    default_obstacle,
    find_obstacle,
    source_obstacle,
    torch_obstacle,
    window_for,
)
from wheelmill.plan.targets import BuildTarget, Cell, Channel, FailureOf, Filters, Obstacle, Plan, Skip

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
