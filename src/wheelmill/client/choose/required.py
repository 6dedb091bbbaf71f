"""Wheels that chosen wheels require, of the same sources or of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.finder import Finder
from wheelmill.client.records import Candidate, Choice, Resolution, Unresolved
from wheelmill.errors import WheelmillError
from wheelmill.names import ProjectName
from wheelmill.wheel.name import wheel_behind

_MOST_REQUIRED: Final = 200
"""The most required projects that sources are searched for: METADATA may name any number."""


@dataclass(kw_only=True)
class RequiredWheels:
    """The requested projects, and those of sources that the wheels chosen for them require."""

    asked: Mapping[ProjectName, Requirement]
    found: Finder
    candidates: dict[ProjectName, Sequence[Candidate]]
    """Fitting wheels of each project that comes from sources."""
    wanted: Mapping[ProjectName, Requirement]
    """Everything that is required of each project; at first as ``asked``."""
    of_sources: dict[ProjectName, bool]
    """False for a project whose wheels are not chosen here; sources are searched for one that is missing."""

    def update(self, resolution: Resolution) -> bool:
        """Take the requirements of the chosen wheels; False if they are the same as before."""
        required = _requirements(resolution)
        homes = {name: choice.candidate.source.name for name, choice, _ in required}
        labelled = {name for name, _, requirement in required if "+" in str(requirement.specifier)}
        self._look_for(homes, labelled, resolution)
        wanted = {name: Requirement(str(each)) for name, each in self.asked.items()}
        for name, _, requirement in required:
            if self.of_sources.get(name):
                whole = wanted.setdefault(name, Requirement(name))
                whole.specifier &= requirement.specifier
                whole.extras |= requirement.extras
        is_new, self.wanted = wanted != self.wanted, wanted
        return is_new

    def _look_for(
        self, homes: Mapping[ProjectName, str], labelled: Collection[ProjectName], resolution: Resolution
    ) -> None:
        """Find out which projects sources have; the home of a wheel is searched first for what it requires.

        A source may mirror the package index, which has no labels: a project without any counts if that lacks it.
        """
        new = [name for name in homes if name not in self.of_sources][: _MOST_REQUIRED - len(self.found.homes)]
        self.found.homes.update({name: homes[name] for name in new})
        self.found.read(new)
        for name in new:
            self.candidates[name] = self.found.fitting_candidates(name)
            is_sure = name in self.asked or name in labelled
            self.of_sources[name] = is_sure or self._is_of_sources(name, resolution)

    def _is_of_sources(self, project: ProjectName, resolution: Resolution) -> bool:
        candidates = self.found.all_candidates(project)
        is_own = any(project in source.projects for source in self.found.sources)
        is_own |= any(candidate.version.local for candidate in candidates)
        return bool(candidates) and (is_own or not self._is_on_index(Requirement(project), resolution))

    def _is_on_index(self, requirement: Requirement, resolution: Resolution) -> bool:
        """True if the package index has a wheel that fits, or is not asked."""
        from wheelmill.installers.package_index import files_of, open_index  # for few requirements

        if self.found.pages.offline:
            return True
        tags = resolution.environment.tag_places.keys()
        with suppress(WheelmillError), open_index() as web:
            wheels = (wheel_behind(each.url) for each in files_of(canonicalize_name(requirement.name), web))
            return any(each and each.tags & tags and each.version in requirement.specifier for each in wheels)
        return False

    def finish(self, resolution: Resolution) -> Resolution:
        """Name the wheels that require others; the package index may have what does not fit in any source."""
        parents: dict[ProjectName, list[Choice]] = {}
        for name, choice, _ in _requirements(resolution):
            parents.setdefault(name, []).append(choice)
        choices = {
            name: replace(choice, required_by=tuple(each.candidate.project for each in parents.get(name, ())))
            for name, choice in resolution.choices.items()
            if name in self.asked or name in parents
        }
        unresolved = {
            name: self._explain(absence, parents[name]) if name in parents else absence
            for name, absence in resolution.unresolved.items()
            if name in self.asked or (name in parents and not self._is_on_index(self.wanted[name], resolution))
        }
        return replace(resolution, choices=choices, unresolved=unresolved)

    def _explain(self, absence: Unresolved, parents: Sequence[Choice]) -> Unresolved:
        """Name the wheels that require a project without a fitting one, and the extras that may be the cause."""
        words = " and ".join(choice.name_with_extras for choice in parents)
        extras = [
            f"leave out the extra of {each.name_with_extras}, for which it would be compiled"
            for each in parents
            if each.extras and absence.project not in self.asked
        ]
        return replace(
            absence,
            reason=f"required by {words} as {self.wanted[absence.project]}: {absence.reason}",
            suggestion=", or ".join(filter(None, (absence.suggestion, *extras))) or None,
        )


def _requirements(resolution: Resolution) -> list[tuple[ProjectName, Choice, Requirement]]:
    """List what chosen wheels require by name: each project, the wheel, and its requirement."""
    return [
        (canonicalize_name(requirement.name), choice, requirement)
        for choice in resolution.choices.values()
        for requirement in choice.requirements(resolution.environment)
        if not requirement.url
    ]
