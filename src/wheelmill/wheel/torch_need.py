"""What a wheel needs of torch: the release that its label names, else what its METADATA requires."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from operator import and_
from typing import NotRequired, cast

from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from typing_extensions import TypedDict

from wheelmill.names import TORCH, StableTorch, TorchNeed, TorchVersion, read_requirement


@functools.lru_cache(maxsize=4096)  # wheels of one version require the same
def torch_requirement(requires_dist: tuple[str, ...]) -> SpecifierSet | None:
    """What a wheel requires of torch on every machine; None where it requires none.

    Args:
        requires_dist: its requirements; one that is none, as anybody's METADATA may have, is passed over.
    """
    bounds = list(_bounds(requires_dist))
    return functools.reduce(and_, bounds) if bounds else None


def _bounds(requires_dist: Iterable[str]) -> Iterable[SpecifierSet]:
    for text in requires_dist:
        try:
            required = read_requirement(text)
        except ValueError:
            continue
        if canonicalize_name(required.name) == TORCH and not required.marker:
            yield required.specifier


@functools.lru_cache(maxsize=4096)
def needed_torch(requires_dist: tuple[str, ...]) -> TorchNeed | None:
    """What a wheel needs of torch whose label names none: one release, or any from one on.

    Returns:
        None where it requires no torch, or none from a certain one on.
    """
    bound = torch_requirement(requires_dist) or SpecifierSet()
    pins = [_minor(clause) for clause in bound if clause.operator == "=="]
    oldest = [_minor(clause) for clause in bound if clause.operator in (">=", ">", "~=")]
    below = [_first_without(clause) for clause in bound if clause.operator in ("<", "<=")]
    try:
        if pins:
            return pins[0]
        return StableTorch(oldest=max(oldest), below=min(below, default=None)) if oldest else None
    except ValueError:  # nothing is in that range
        return None


@functools.lru_cache(maxsize=4096)
def runs_beside(requires_dist: tuple[str, ...], torch: TorchVersion) -> bool:
    """Whether what a wheel requires lets some release of a torch stand beside it."""
    bound = torch_requirement(requires_dist)
    return bound is None or has_release_of(torch, bound)


def has_release_of(torch: TorchVersion, bound: SpecifierSet) -> bool:
    """Whether some release of a torch is in a range."""
    return any(bound.contains(release, prereleases=True) for release in torch.releases)


def words_for(needed: TorchNeed) -> str:
    """What people read: ``torch 2.11``, ``any torch from 2.10``, ``any torch from 2.10, below 2.16``."""
    if isinstance(needed, StableTorch):
        return f"any torch from {needed.oldest}" + (f", below {needed.below}" if needed.below else "")
    return f"torch {needed}"


def age_of(needed: TorchNeed | None) -> tuple[object, ...]:
    """Sorts no torch before one, older ones before newer ones, and ranges behind those."""
    match needed:
        case None:
            return (0,)
        case StableTorch(oldest=oldest, below=below):
            return (2, oldest, below is None, below)
        case torch:
            return (1, torch)


class TorchRange(TypedDict):
    """Any torch from one on."""

    stable: str
    """The oldest: ``2.10``."""
    below: NotRequired[str]
    """The first that no longer serves."""


class TorchKeys(TypedDict):
    """What a wheel needs of torch: one release, a range of them, or neither, where both are null."""

    torch: str | None
    """``2.11``"""
    torch_abi: TorchRange | None


def torch_in_json(torch: TorchNeed | None) -> TorchKeys:
    """How JSON says what a wheel needs of torch: one release, a range of them beside it, or neither."""
    return {
        "torch": str(torch) if isinstance(torch, TorchVersion) else None,
        "torch_abi": cast("TorchRange", torch.plain) if isinstance(torch, StableTorch) else None,
    }


def _minor(clause: Specifier) -> TorchVersion:
    version = Version(clause.version.removesuffix(".*"))
    return TorchVersion(version.major, version.minor)


def _first_without(clause: Specifier) -> TorchVersion:
    """The oldest torch of which no release is below a bound."""
    minor = _minor(clause)
    has_some = clause.operator == "<=" or Version(clause.version).micro > 0
    return TorchVersion(minor.major, minor.minor + 1) if has_some else minor
