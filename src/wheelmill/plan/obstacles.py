"""Why a cell cannot have a wheel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from wheelmill.config.model import ArchitectureRule, Compatibility, GitSource, Lock, LockedSdist, Package, Part
from wheelmill.names import Architecture, StableTorch
from wheelmill.plan.targets import Cell, Channel, Filters, Obstacle, Skip


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
