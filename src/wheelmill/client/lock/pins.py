"""Pins: the entries for chosen wheels in a project's file, with markers that tell its environments apart.

https://packaging.python.org/en/latest/specifications/dependency-specifiers/
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from packaging.markers import Marker
from packaging.requirements import Requirement

from wheelmill.client.records import Choice, Resolution, SourceKind, TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import TORCH, Platform, ProjectName
from wheelmill.wheel.platforms import PLATFORMS, platforms_of

_INDEX_WORDS: Final = re.compile("[a-z0-9._-]+")
"""Characters that uv allows in the name of an index."""


@dataclass(frozen=True, kw_only=True)
class Index:
    """Simple index for certain packages of a project only."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Pin:
    """Dependency on exactly one version, for all environments of a project or those of a marker."""

    requirement: str
    """``flash-attn==2.8.3+cu130torch2.11``, or ``flash-attn @ https://...whl#sha256=...`` (PEP 508)."""
    index: Index | None = None
    marker: str | None = None
    environments: tuple[TargetEnvironment, ...] = field(default=(), compare=False)
    """The targets that it was chosen for; empty for every one."""

    @property
    def dependency(self) -> str:
        """The line in ``project.dependencies``; a space separates a URL from its marker (PEP 508)."""
        return requirements_line(f"{self.requirement} ; {self.marker}" if self.marker else self.requirement)

    def with_extras(self, extras: set[str]) -> Pin:
        """Return the pin with further extras."""
        requirement = Requirement(self.requirement)
        requirement.extras |= extras
        return replace(self, requirement=str(requirement))

    def counts_for(self, marker: Marker | None) -> bool:
        """True if an entry with this marker is for one of its targets."""
        return not self.environments or any(each.meets(marker) for each in self.environments)


def replace_by_marker(markers: Sequence[Marker | None], pins: Sequence[Pin]) -> Iterator[int | Pin]:
    """Yield pins and the places of the entries that stay, given the markers of all entries.

    An entry for other machines than the targets of the pins stays. Another one's marker stays if such entries are for
    all targets of the pin that replaces it.
    """
    left = [*pins]
    for place, marker in enumerate(markers):
        replacing = [pin for pin in pins if pin.counts_for(marker)]
        if pins and not replacing:
            yield place
        for pin in replacing:
            is_covered = all(any(each and target.meets(each) for each in markers) for target in pin.environments)
            if marker and len(replacing) == 1 and is_covered:
                yield replace(pin, marker=str(marker).replace('"', "'"))
            elif pin in left:
                yield pin
            left = [each for each in left if each != pin]
    yield from left


def replace_dependencies(texts: Sequence[str], pins: Sequence[Pin]) -> list[str]:
    """Replace the dependencies on a project for the targets of pins, and keep the extras; see `replace_by_marker`."""
    had = list(map(Requirement, texts))
    extras = {extra for each in had for extra in each.extras}
    merged = replace_by_marker([each.marker for each in had], pins)
    return [texts[each] if isinstance(each, int) else each.with_extras(extras).dependency for each in merged]


def pins_of(resolutions: Sequence[Resolution], *, named_indexes: bool = True) -> dict[ProjectName, tuple[Pin, ...]]:
    """Map installed project names to the pins of the chosen wheels: a common one if possible, else one per environment.

    A wheel of an index is pinned by version with a named index, whose links carry hashes; any other by URL and hash.
    Without ``named_indexes``, for projects that cannot set the index of one dependency, every wheel is pinned by URL
    and hash.
    """
    by_project = defaultdict[ProjectName, dict[int, Pin]](dict)
    platforms = defaultdict[ProjectName, set[Platform]](set)
    for place, resolution in enumerate(resolutions):
        for choice in resolution.choices.values():
            project, pin = choice.candidate.project, _pin(choice, named_indexes=named_indexes)
            by_project[project][place] = pin
            platforms[project] |= platforms_of(choice.candidate.tags) | (choice.platforms if pin.index else set())
            platforms[TORCH] |= platforms[project] if choice.needs_torch else set()
        if torch := resolution.torch:
            url = resolution.torch_index
            index = Index(name=f"wheelmill-pytorch-{resolution.torch_backend}", url=url) if url else None
            by_project[TORCH][place] = Pin(requirement=f"torch{torch.pin}", index=index)
            platforms[TORCH] |= PLATFORMS.keys() if resolution.asks_torch else set()
    environments = [resolution.environment for resolution in resolutions]
    return {project: (*_with_markers(pins, platforms[project], environments),) for project, pins in by_project.items()}


def _with_markers(
    pins: Mapping[int, Pin], platforms: set[Platform], environments: Sequence[TargetEnvironment]
) -> Iterator[Pin]:
    """Give the pins of some environments the markers of the platforms that their wheels run on; merge equal ones."""
    is_for_all = platforms >= PLATFORMS.keys()
    without = {each.platform.plain for place, each in enumerate(environments) if place not in pins}
    pin, *others = {*pins.values()}
    if not others and without.isdisjoint(platforms):  # otherwise some of them do not require it
        marker = None if is_for_all else platform_marker(environments[0], platforms)
        yield replace(pin, marker=marker, environments=tuple(environments[place] for place in pins))
        return
    markers = distinguishing_markers(environments)
    if len({each.platform for each in environments}) == 1 and not is_for_all:
        markers = [full_marker(each) for each in environments]
    for place, pin in pins.items():
        yield replace(pin, marker=markers[place], environments=(environments[place],))


def _pin(choice: Choice, *, named_indexes: bool) -> Pin:
    candidate = choice.candidate
    if named_indexes and candidate.source.kind is SourceKind.SIMPLE:
        name = candidate.source.name.partition("://")[2] or candidate.source.name
        words = _INDEX_WORDS.findall(f"wheelmill-{name}".lower())
        index = Index(name="-".join(words), url=candidate.source.url)
        return Pin(requirement=f"{choice.name_with_extras}=={candidate.version}", index=index)
    fragment = f"#sha256={candidate.sha256}" if candidate.sha256 else ""  # installers check it
    return Pin(requirement=f"{choice.name_with_extras} @ {candidate.url}{fragment}")


_PLATFORM_MARKER: Final = "sys_platform == '{sys_platform}' and platform_machine == '{platform_machine}'"


def full_marker(environment: TargetEnvironment) -> str:
    """The marker of an environment: its Python and its platform."""
    return f"{_python_marker(environment)} and {platform_marker(environment)}"


def distinguishing_markers(environments: Sequence[TargetEnvironment]) -> list[str]:
    """The shortest marker for each environment that distinguishes it from the others."""
    parts = []
    if len({environment.python for environment in environments}) > 1:
        parts.append([_python_marker(environment) for environment in environments])
    if len({environment.platform for environment in environments}) > 1:
        parts.append([platform_marker(environment) for environment in environments])
    markers = [" and ".join(words) for words in zip(*parts, strict=True)] if parts else [""] * len(environments)
    if len(set(markers)) < len(markers):
        raise UsageError(
            "environments-indistinct",
            "no marker tells these environments apart: "
            + ", ".join(f"Python {each.python} on {each.platform}" for each in environments),
            hint="use one project, or one lock, for each",
        )
    return markers


def _python_marker(environment: TargetEnvironment) -> str:
    return f"python_version == '{environment.python.major}.{environment.python.minor}'"


def platform_marker(environment: TargetEnvironment, platforms: Iterable[Platform] = ()) -> str:
    """The marker that is true on the platform of an environment, or on others."""
    seen = [replace(environment, platform=platform).markers for platform in platforms] or [environment.markers]
    return " or ".join(sorted({_PLATFORM_MARKER.format_map(each) for each in seen}))
