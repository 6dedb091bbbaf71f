"""Why there can be no wheel of a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from wheelmill.config.model import Compatibility, LockedSdist, Package, Part
from wheelmill.names import Architecture, CudaVersion, StableTorch, TorchVersion
from wheelmill.plan.targets import Cell, Channel, Filters, Obstacle, Skip, Source


def find_obstacle(cell: Cell, package: Package, compatibility: Compatibility) -> Skip | None:
    """Say why there can be no wheel of a cell; None when there can."""
    looks: Mapping[Obstacle, Callable[[], str | None]] = {
        Obstacle.UNKNOWN: lambda: _unknown_value(cell, compatibility),
        Obstacle.LICENCE: lambda: _unlicensed(package),
        Obstacle.LEFT_OUT: lambda: _unwanted(cell, package),
        Obstacle.NO_TORCH: lambda: _unpublished(cell, package, compatibility),
        Obstacle.NO_GPU_CODE: lambda: _uncompilable(cell, package, compatibility),
    }
    found = ((obstacle, look()) for obstacle, look in looks.items())
    return next((Skip(cell=cell, obstacle=obstacle, reason=reason) for obstacle, reason in found if reason), None)


def source_obstacle(cell: Cell, source: Source) -> Skip | None:
    """Say which Pythons a source asks for where a cell's is not among them."""
    if not isinstance(source, LockedSdist) or source.is_for(cell.python):
        return None
    reason = f"{cell.project} {cell.version} requires Python {source.requires_python}"
    return Skip(cell=cell, obstacle=Obstacle.REQUIRES_PYTHON, reason=reason)


def torch_obstacle(cell: Cell, filters: Filters, compatibility: Compatibility) -> Skip | None:
    """Say which torches a wheel serves where it is for several, and none of those that were asked for is among them."""
    if not filters.torches or not isinstance(cell.torch, StableTorch):
        return None
    served = compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
    if not set(served).isdisjoint(filters.torches):
        return None
    reason = f"its wheel for CUDA {cell.cuda} serves torch {', '.join(map(str, served))} only"
    return Skip(cell=cell, obstacle=Obstacle.NO_TORCH, reason=reason)


def window_for(package: Package, filters: Filters) -> Part:
    """What is built of a package by default, on the axes of which nobody asked for a value."""
    return replace(
        package.window,
        python=None if filters.pythons else package.window.python,
        cuda=None if filters.cudas else package.window.cuda,
        torch=None if filters.torches or filters.channel is Channel.RC else package.window.torch,
        platform=None if filters.platforms else package.window.platform,
    )


def default_obstacle(cell: Cell, window: Part) -> Skip | None:
    """Say what is built by default where a cell is outside of that window."""
    if (axis := _outside(window, cell)) is None:
        return None
    reason = f"built for {axis} unless another is asked for"
    return Skip(cell=cell, obstacle=Obstacle.NOT_BY_DEFAULT, reason=reason)


def architectures_for(package: Package, cuda: CudaVersion, compatibility: Compatibility) -> tuple[Architecture, ...]:
    """The package's GPU architectures that a CUDA release can compile."""
    known = compatibility.cuda[cuda].architectures
    return tuple(architecture for architecture in package.architectures if architecture.capability in known)


def _unknown_value(cell: Cell, compatibility: Compatibility) -> str | None:
    if cell.platform not in compatibility.platforms:
        return f"platform {cell.platform} is not in compatibility.yml"
    if cell.cuda not in compatibility.cuda:
        return f"CUDA {cell.cuda} is not in compatibility.yml"
    if isinstance(cell.torch, TorchVersion) and not compatibility.torch.known(cell.torch):
        candidates = [str(each) for each in compatibility.torch.candidates if str(each).startswith(f"{cell.torch}rc")]
        known = f"; its release candidate {candidates[-1]} is" if candidates else ""
        return f"torch {cell.torch} is not in compatibility.yml{known}"
    if cell.python not in (compatibility.torch_pythons if cell.torch else compatibility.pythons):
        return f"Python {cell.python} is not in compatibility.yml"
    return None


def _unlicensed(package: Package) -> str | None:
    if package.redistributable:
        return None
    return f"its licence ({package.licence or 'not stated'}) does not let others be given the wheel"


def _unwanted(cell: Cell, package: Package) -> str | None:
    if package.abi == "abi3" and cell.python.free_threaded:
        return "free-threaded Python does not load abi3 wheels"
    if (axis := _outside(package.scope, cell)) is not None:
        return f"its entry is for {axis} only"
    return next((rule.explained for rule in package.exclude if _outside(rule, cell) is None), None)


def _unpublished(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    if isinstance(cell.torch, StableTorch):
        served = compatibility.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
        where = f"for CUDA {cell.cuda} on {cell.platform} and Python {cell.python}"
        return None if served else f"no torch{cell.torch} is published {where}"
    torch = compatibility.torch.known(cell.torch) if cell.torch else None
    if torch is None or any(_outside(rule, cell) is None for rule in package.include):
        return None
    if cell.cuda not in (published := torch.cuda.get(cell.platform, frozenset())):
        others = ", ".join(map(str, sorted(published))) or "no CUDA"
        return f"torch {cell.torch} is not published for CUDA {cell.cuda} on {cell.platform} ({others} there)"
    if cell.python not in torch.python[cell.platform]:
        elsewhere = any(cell.python in pythons for pythons in torch.python.values())
        where = f" on {cell.platform}" if elsewhere else ""
        return f"torch {cell.torch} is not published for Python {cell.python}{where}"
    return None


def _uncompilable(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    if architectures_for(package, cell.cuda, compatibility):
        return None
    wanted = ", ".join(map(str, package.architectures))
    return f"CUDA {cell.cuda} compiles for none of its GPU architectures ({wanted})"


def _outside(part: Part, cell: Cell) -> str | None:
    """The first axis that a cell is outside of, as a person reads it; None when the cell is in the part."""
    axes = (
        ("version", part.version, cell.version),
        ("Python", part.python, f"{cell.python.major}.{cell.python.minor}"),
        ("CUDA", part.cuda, str(cell.cuda)),
        ("torch", part.torch, str(cell.torch) if isinstance(cell.torch, TorchVersion) else None),
    )
    for name, wanted, value in axes:
        if wanted is not None and not (value and wanted.contains(value, prereleases=True)):
            return f"{name} {wanted}"
    if part.platform is not None and cell.platform not in part.platform:
        return ", ".join(map(str, part.platform))
    return None
