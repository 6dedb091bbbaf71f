"""Which cells of the matrix can become wheels, and why the others cannot."""

from __future__ import annotations

from wheelmill.config.model import Compatibility, Package, Part
from wheelmill.names import Architecture, CudaVersion
from wheelmill.plan.targets import Cell


def find_obstacle(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    """Say why there can be no wheel of a cell; None when there can."""
    return (
        _unknown_value(cell, compatibility)
        or _unwanted(cell, package)
        or _unpublished(cell, package, compatibility)
        or _uncompilable(cell, package, compatibility)
    )


def architectures_for(package: Package, cuda: CudaVersion, compatibility: Compatibility) -> tuple[Architecture, ...]:
    """The package's GPU architectures that a CUDA release can compile."""
    known = compatibility.cuda[cuda].architectures
    return tuple(architecture for architecture in package.architectures if architecture.capability in known)


def _unknown_value(cell: Cell, compatibility: Compatibility) -> str | None:
    if cell.platform not in compatibility.platforms:
        return f"platform {cell.platform} is not in compatibility.yml"
    if cell.cuda not in compatibility.cuda:
        return f"CUDA {cell.cuda} is not in compatibility.yml"
    if cell.torch and cell.torch not in compatibility.torch:
        return f"torch {cell.torch} is not in compatibility.yml"
    if cell.python not in (compatibility.torch_pythons if cell.torch else compatibility.pythons):
        return f"Python {cell.python} is not in compatibility.yml"
    return None


def _unwanted(cell: Cell, package: Package) -> str | None:
    if not package.redistributable:
        return f"its licence ({package.licence or 'not stated'}) does not let others be given the wheel"
    if package.abi == "abi3" and cell.python.free_threaded:
        return "free-threaded Python does not load abi3 wheels"
    if (axis := _outside(package.scope, cell)) is not None:
        return f"packages.yml builds it for {axis} only"
    return next((rule.reason for rule in package.exclude if _outside(rule, cell) is None), None)


def _unpublished(cell: Cell, package: Package, compatibility: Compatibility) -> str | None:
    if cell.torch is None or any(_outside(rule, cell) is None for rule in package.include):
        return None
    torch = compatibility.torch[cell.torch]
    if cell.cuda not in (published := torch.cuda.get(cell.platform, frozenset())):
        others = ", ".join(map(str, sorted(published))) or "no CUDA"
        return f"torch {cell.torch} is not published for CUDA {cell.cuda} on {cell.platform} ({others} there)"
    if cell.python not in torch.python:
        return f"torch {cell.torch} is not published for Python {cell.python}"
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
        ("torch", part.torch, str(cell.torch) if cell.torch else None),
    )
    for name, wanted, value in axes:
        if wanted is not None and not (value and wanted.contains(value, prereleases=True)):
            return f"{name} {wanted}"
    if part.platform is not None and cell.platform not in part.platform:
        return ", ".join(map(str, part.platform))
    return None
