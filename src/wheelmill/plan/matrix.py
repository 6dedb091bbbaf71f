"""The matrix: packages x versions x Pythons x CUDAs x torches x platforms, less what cannot or need not be built."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from wheelmill.config.records import Compatibility, Config, Package
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion, ReleaseTag, TorchVersion
from wheelmill.plan.records import BuildTarget, Cell, Filters, Plan, Skip


def make_plan(config: Config, filters: Filters, published: Mapping[Cell, ReleaseTag]) -> Plan:
    """Sort every cell that the filters name into targets and skips.

    Args:
        config: what can be built.
        filters: what is wanted. Values that ``config`` does not know become skips that say so.
        published: the cells that a release already holds.

    Raises:
        UsageError: a project or version is not in ``packages.yml``.
    """
    targets: list[BuildTarget] = []
    skips: list[Skip] = []
    for package in _chosen_packages(config, filters):
        for cell in _cells(package, config.compatibility, filters):
            reason = _impossible(cell, package, config.compatibility)
            if reason is None and cell in published and not filters.force:
                reason = f"already published in {published[cell]}"
            if reason is None:
                targets.append(_target(cell, package, config))
            else:
                skips.append(Skip(cell=cell, reason=reason))
    return Plan(targets=tuple(targets), skips=tuple(skips))


def _chosen_packages(config: Config, filters: Filters) -> tuple[Package, ...]:
    unknown = [name for name in filters.projects if name not in config.packages]
    if unknown:
        raise UsageError(
            f"{', '.join(unknown)}: not in packages.yml", hint=f"it has {', '.join(sorted(config.packages))}"
        )
    packages = tuple(
        package for name, package in config.packages.items() if not filters.projects or name in filters.projects
    )
    known = {version for package in packages for version in package.versions}
    if missing := [version for version in filters.versions if version not in known]:
        raise UsageError(
            f"version {', '.join(missing)} is not in packages.yml",
            hint="; ".join(f"{package.name} has {', '.join(package.versions)}" for package in packages),
        )
    return packages


def _cells(package: Package, compatibility: Compatibility, filters: Filters) -> Iterator[Cell]:
    torches = (filters.torches or tuple(sorted(compatibility.torch))) if package.needs_torch else (None,)
    axes = itertools.product(
        [version for version in package.versions if not filters.versions or version in filters.versions],
        filters.cudas or tuple(sorted(compatibility.cuda)),
        torches,
        filters.platforms or compatibility.platforms,
        filters.pythons or compatibility.pythons,
    )
    for version, cuda, torch, platform, python in axes:
        yield Cell(project=package.name, version=version, python=python, cuda=cuda, torch=torch, platform=platform)


def _impossible(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    """Why no such wheel can exist; None when it can."""
    if cell.platform not in compatibility.platforms:
        return f"platform {cell.platform} is not in compatibility.yml"
    if cell.cuda not in compatibility.cuda:
        return f"CUDA {cell.cuda} is not in compatibility.yml"
    if cell.python not in compatibility.pythons:
        return f"Python {cell.python} is not in compatibility.yml"
    if cell.torch and (reason := _torch_lacks(cell, cell.torch, compatibility)):
        return reason
    if not _compilable(package, cell.cuda, compatibility):
        wanted = ", ".join(str(architecture) for architecture in package.architectures)
        return f"CUDA {cell.cuda} compiles for none of its GPU architectures ({wanted})"
    return None


def _torch_lacks(cell: Cell, version: TorchVersion, compatibility: Compatibility) -> str | None:
    torch = compatibility.torch.get(version)
    if torch is None:
        return f"torch {version} is not in compatibility.yml"
    if cell.cuda not in torch.cuda:
        published_for = ", ".join(str(cuda) for cuda in sorted(torch.cuda))
        return f"torch {version} is not published for CUDA {cell.cuda} (only for {published_for})"
    if cell.python not in torch.python:
        return f"torch {version} is not published for Python {cell.python}"
    return None


def _compilable(package: Package, cuda: CudaVersion, compatibility: Compatibility) -> tuple[Architecture, ...]:
    known = compatibility.cuda[cuda].architectures
    return tuple(architecture for architecture in package.architectures if architecture.capability in known)


def _target(cell: Cell, package: Package, config: Config) -> BuildTarget:
    facts = config.compatibility
    return BuildTarget(
        cell=cell,
        package=package,
        source=package.source or config.lock.sdists.get((cell.project, cell.version)),
        toolkit=facts.cuda[cell.cuda].toolkit,
        torch_release=facts.torch[cell.torch].release if cell.torch else None,
        architectures=_compilable(package, cell.cuda, facts),
    )
