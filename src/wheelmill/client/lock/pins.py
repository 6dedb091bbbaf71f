"""Pins: what a project's file says about a chosen wheel, as a dependency and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from packaging.requirements import Requirement

from wheelmill.client.lock.markers import distinguishing_markers
from wheelmill.client.records import Choice, Resolution
from wheelmill.client.source_records import SourceKind
from wheelmill.names import TORCH, ProjectName, TorchVersion


@dataclass(frozen=True, kw_only=True)
class Index:
    """A simple index that a project takes some packages from, and no others."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One dependency on exactly one version, for all environments of a project or those that a marker names."""

    requirement: str
    """``flash-attn==2.8.3+cu130torch2.11``, or ``flash-attn @ https://...whl#sha256=...`` (PEP 508)."""
    index: Index | None = None
    marker: str | None = None

    @property
    def dependency(self) -> str:
        """The line in ``project.dependencies``. A URL is parted from a marker by a space (PEP 508)."""
        return f"{self.requirement} ; {self.marker}" if self.marker else self.requirement

    def in_place_of(self, had: Sequence[Requirement]) -> Pin:
        """The pin with the extras of the dependencies that it replaces, and with their marker.

        That says for which platforms or Pythons a project wants the package at all; where there are several, or the
        pin has a marker, this decides anew.
        """
        requirement = Requirement(self.requirement)
        requirement.extras |= {extra for each in had for extra in each.extras}
        marker = self.marker
        if marker is None and len(had) == 1 and had[0].marker:
            marker = str(had[0].marker).replace('"', "'")
        return replace(self, requirement=str(requirement), marker=marker)


def pins_of(resolutions: Sequence[Resolution], *, named_indexes: bool = True) -> dict[ProjectName, tuple[Pin, ...]]:
    """The pins with which each environment of a project gets the wheels that were chosen for it.

    A wheel of an index is pinned by its version and the index is named, for its links carry hashes; any other wheel is
    named by its URL and its hash.

    Args:
        resolutions: the choices for each environment.
        named_indexes: whether the project can say from which index one dependency comes; else every wheel is named by
            its URL and its hash.

    Returns:
        By the name each is installed under. One pin where one serves all environments, else one for each.

    Raises:
        UsageError: environments differ in a way that no marker can tell.
    """
    found: dict[ProjectName, list[Pin]] = {}
    for resolution in resolutions:
        for choice in resolution.choices.values():
            found.setdefault(choice.candidate.project, []).append(_pin(choice, named_indexes=named_indexes))
        if torch := resolution.torch:
            found.setdefault(TORCH, []).append(_torch_pin(torch, resolution))
    markers = None
    pins: dict[ProjectName, tuple[Pin, ...]] = {}
    for project, each in found.items():
        if len(set(each)) == 1:
            pins[project] = (each[0],)
        else:
            markers = markers or distinguishing_markers([resolution.environment for resolution in resolutions])
            pins[project] = tuple(replace(pin, marker=marker) for pin, marker in zip(each, markers, strict=True))
    return pins


def _torch_pin(torch: TorchVersion, resolution: Resolution) -> Pin:
    url = resolution.torch_index
    index = Index(name=f"wheelmill-pytorch-{resolution.torch_backend}", url=url) if url else None
    return Pin(requirement=f"torch{torch.pin}", index=index)


def _pin(choice: Choice, *, named_indexes: bool) -> Pin:
    candidate = choice.candidate
    if named_indexes and candidate.source.kind is SourceKind.SIMPLE:
        name = candidate.source.name.partition("://")[2] or candidate.source.name
        index = Index(name=f"wheelmill-{name}", url=candidate.source.url)
        return Pin(requirement=f"{choice.name_with_extras}=={candidate.version}", index=index)
    fragment = f"#sha256={candidate.sha256}" if candidate.sha256 else ""  # installers check it
    return Pin(requirement=f"{choice.name_with_extras} @ {candidate.url}{fragment}")
