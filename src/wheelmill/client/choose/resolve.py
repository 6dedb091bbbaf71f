"""From requirements to wheels: sources, pages, candidates, choice; then inspection, and another choice if needed."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.choice import Candidates, choose, targets_of, without_aliases
from wheelmill.client.choose.finder import Finder
from wheelmill.client.choose.fit import TorchPlace, is_for_other_torch, mismatches_inside
from wheelmill.client.records import (
    Candidate,
    Choice,
    Resolution,
    Search,
    TargetEnvironment,
    Unresolved,
    WheelInspection,
)
from wheelmill.client.sources.pages import PageCache, Pages, open_cache
from wheelmill.client.sources.sources import read_sources
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError, WheelmillError
from wheelmill.names import TORCH, ProjectName
from wheelmill.system import own_installation
from wheelmill.system.records import plain_of, record_of
from wheelmill.wheel.name import WheelName, wheel_behind

if TYPE_CHECKING:
    from wheelmill.web.client import Web

_ROUNDS: Final = 10
"""The most wheels of a project that are inspected."""
_MOST_REQUIRED: Final = 200
"""The most required projects that sources are searched for: METADATA may name any number."""

_UNREAD: Final = WheelInspection(requires_dist=())
"""Contents of a wheel that could not be inspected."""

Inspections = Mapping[str, WheelInspection | str]
"""Result of each inspection by the wheel's URL, or why the wheel could not be inspected."""


def with_inspections(candidates: Candidates, seen: Inspections) -> Candidates:
    """Add their inspections to candidates."""
    return {
        name: [
            replace(candidate, inside=inside)
            if isinstance(inside := seen.get(candidate.url), WheelInspection)
            else candidate
            for candidate in listed
        ]
        for name, listed in candidates.items()
    }


def choose_inspected(
    choose_with: Callable[[Inspections], Resolution],
    pages: Pages,
    requires_more: Callable[[Resolution], bool] = lambda _resolution: False,
) -> tuple[Resolution, Inspections]:
    """Choose and inspect until the chosen wheels fit and require nothing more; warnings name those left out."""
    if not pages.search.inspect:
        return choose_with({}), {}
    seen: dict[str, WheelInspection | str] = {}
    left_out: dict[str, str] = {}

    def noted(resolution: Resolution) -> Resolution:
        choices = {name: _with_notes(each, seen, resolution.environment) for name, each in resolution.choices.items()}
        return replace(resolution, choices=choices)

    for _ in range(_ROUNDS):
        resolution = choose_with(seen)
        unseen = [choice.candidate for choice in resolution.choices.values() if choice.candidate.url not in seen]
        seen |= inspect_wheels(unseen, pages)
        reasons = dict(_reasons_against(resolution, seen))
        seen |= {url: _UNREAD for url in reasons if isinstance(seen[url], str)}
        left_out |= reasons
        if not reasons and not requires_more(noted(resolution)):
            break
    else:
        resolution = choose_with(seen)
    chosen = {choice.candidate.url for choice in resolution.choices.values()}
    warnings = tuple(reason for url, reason in left_out.items() if url not in chosen)
    return replace(noted(resolution), warnings=warnings), seen


def inspect_wheels(candidates: Sequence[Candidate], pages: Pages) -> Inspections:
    """Inspect wheels in parallel, or take their inspections from the cache; see `Search.confirm`."""
    cache, search = pages.cache, pages.search
    known = {candidate.url: cached for candidate in candidates if (cached := _recall(candidate, cache))}
    unasked = "was not inspected: --offline was given"
    inspections: dict[str, WheelInspection | str] = {each.url: known.get(each.url, unasked) for each in candidates}
    asked = [] if search.offline else [each for each in candidates if search.confirm or each.url not in known]
    if asked:
        from wheelmill.client.choose.wheel_inspection import find_gone, inspect_wheel  # not for cached inspections

        by_url = {candidate.url: candidate for candidate in asked}

        def inspect(web: Web, url: str) -> WheelInspection | str:
            gone = find_gone(by_url[url], web) if search.confirm else None
            return gone or known.get(url) or inspect_wheel(by_url[url], web)

        search.progress.line(f"inspecting {', '.join(each.filename for each in asked)}")
        for url, inside in search.budget.ask(inspect, by_url):
            if isinstance(inside, WheelmillError):
                inspections[url] = known.get(url) or f"could not be inspected: {inside}"
                continue
            inspections[url] = inside
            if not isinstance(inside, str) and not inside.gone:
                _keep(inside, by_url[url], cache)
        search.progress.line("")
    return inspections


def _keep(inside: WheelInspection, candidate: Candidate, cache: PageCache) -> None:
    """Cache an inspection under the hash of its wheel; without a hash, a changed wheel would go unnoticed."""
    if candidate.sha256:
        cache.keep_fact(f"inside/4:{candidate.sha256}", json.dumps(plain_of(inside)))


def _recall(candidate: Candidate, cache: PageCache) -> WheelInspection | None:
    kept = cache.fact(f"inside/4:{candidate.sha256}") if candidate.sha256 else None
    if kept is None:
        return None
    inside: WheelInspection = record_of(WheelInspection, json.loads(kept))
    return inside


def _reasons_against(resolution: Resolution, seen: Inspections) -> Iterator[tuple[str, str]]:
    """Yield the URL of each chosen wheel that does not fit, and every reason."""
    for choice in resolution.choices.values():
        candidate = choice.candidate
        inside = seen[candidate.url]
        against = mismatches_inside(
            _UNREAD if isinstance(inside, str) else inside, candidate.label, resolution.environment
        )
        if reasons := "; ".join(mismatch.reason for mismatch in against):
            yield candidate.url, f"left out {candidate.filename}: {reasons}"


def _with_notes(choice: Choice, seen: Inspections, target: TargetEnvironment) -> Choice:
    """Add the requirements of its wheel to a choice, and notes about facts that inspection cannot give."""
    inside = seen.get(choice.candidate.url, f"was not inspected: {_ROUNDS} better ones did not fit")
    if isinstance(inside, str):
        return replace(choice, notes=(*choice.notes, inside))
    notes = list(choice.notes)
    label = choice.candidate.label
    if is_for_other_torch(label, target):
        notes.append(f"is built for torch {label.torch}: torch {target.torch} has its symbols, which is no proof")
    if not inside.code_read:
        notes.append("its compiled code was not read")
    candidate = replace(choice.candidate, inside=inside, size=choice.candidate.size or inside.size)
    return replace(choice, candidate=candidate, requires_dist=inside.requires_dist, notes=tuple(notes))


@functools.cache
def read_facts() -> Compatibility:
    """Read the facts of ``compatibility.yml`` from their JSON: YAML would take too long."""
    facts: Compatibility = record_of(
        Compatibility, json.loads((own_installation.CONFIG / "compatibility.json").read_bytes())
    )
    return facts


@dataclass(kw_only=True)
class RequiredWheels:
    """The requested projects, and those of sources that the wheels chosen for them require."""

    asked: Mapping[ProjectName, Requirement]
    finder: Finder
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

    def choose(self, environment: TargetEnvironment, seen: Inspections) -> Resolution:
        """Choose wheels for everything that is required; pages from the cache are requested before one is given up."""
        resolution = self._choose_once(environment, seen)
        if resolution.unresolved and self.finder.ask_again(*resolution.unresolved):
            self.candidates |= {name: self.finder.fitting_candidates(name) for name in resolution.unresolved}
            resolution = self._choose_once(environment, seen)
        if resolution.unresolved:
            # Wheels that do not fit are read only for advice about a project without a wheel.
            self.candidates |= {name: self.finder.all_candidates(name) for name in resolution.unresolved}
            resolution = self._choose_once(environment, seen)
        return resolution

    def _choose_once(self, environment: TargetEnvironment, seen: Inspections) -> Resolution:
        candidates = with_inspections(self.candidates, seen)
        return choose(list(self.wanted.values()), environment, candidates, self.finder.facts)

    def _look_for(
        self, homes: Mapping[ProjectName, str], labelled: Collection[ProjectName], resolution: Resolution
    ) -> None:
        """Find out which projects sources have, if the home of a wheel is searched first for what it requires."""
        new = [name for name in homes if name not in self.of_sources][: _MOST_REQUIRED - len(self.finder.homes)]
        self.finder.homes.update({name: homes[name] for name in new})
        self.finder.read(new)
        for name in new:
            self.candidates[name] = self.finder.fitting_candidates(name)
            is_sure = name in self.asked or name in labelled
            self.of_sources[name] = is_sure or self._is_of_sources(name, resolution)

    def _is_of_sources(self, project: ProjectName, resolution: Resolution) -> bool:
        """True if it is not only a mirror's: a source may mirror the package index, which has no labels."""
        candidates = self.finder.all_candidates(project)
        is_own = any(project in source.projects for source in self.finder.sources)
        is_own |= any(candidate.version.local for candidate in candidates)
        return bool(candidates) and (is_own or not self._is_on_index(Requirement(project), resolution))

    def _is_on_index(self, requirement: Requirement, resolution: Resolution) -> bool:
        """True if the package index has a wheel that fits, or is not asked."""
        tags = resolution.environment.tag_places.keys()
        is_offline = self.finder.pages.search.offline
        return is_offline or any(each.tags & tags for each in _wheels_on_index(requirement))

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
            f"leave out the extra of {parent.name_with_extras}, for which it would be compiled"
            for parent in parents
            if parent.extras and absence.project not in self.asked
        ]
        return replace(
            absence,
            reason=f"required by {words} as {self.wanted[absence.project]}: {absence.reason}",
            suggestion=", or ".join(filter(None, (absence.suggestion, *extras))) or None,
        )


def _wheels_on_index(requirement: Requirement) -> list[WheelName]:
    """List the wheels that the package index has for a requirement; none if it does not answer."""
    from wheelmill.installers.package_index import files_of, open_index  # for few requirements

    with suppress(WheelmillError), open_index() as web:
        wheels = (wheel_behind(each.url) for each in files_of(canonicalize_name(requirement.name), web))
        return [each for each in wheels if each and each.version in requirement.specifier]
    return []


def is_pure_on_index(requirement: Requirement) -> bool:
    """True if the newest version on the package index for a requirement has a wheel for every machine."""
    wheels = _wheels_on_index(requirement)
    newest = max((each.version for each in wheels), key=lambda each: (not each.is_prerelease, each), default=None)
    return any(each.version == newest and any(tag.platform == "any" for tag in each.tags) for each in wheels)


def _requirements(resolution: Resolution) -> list[tuple[ProjectName, Choice, Requirement]]:
    """List what chosen wheels require by name: each project, the wheel, and its requirement."""
    return [
        (canonicalize_name(requirement.name), choice, requirement)
        for choice in resolution.choices.values()
        for requirement in choice.requirements(resolution.environment)
        if not requirement.url
    ]


def resolve(
    requirements: Sequence[Requirement],
    environment: TargetEnvironment,
    search: Search,
    others: Collection[ProjectName] = (),
) -> Resolution:
    """Find the wheels for requirements, at most one for each project, and the wheels that these require of sources.

    Facts that the environment leaves open are decided for all of them together. A requirement for torch beside others
    limits the torch. ``others`` are the projects that a user's project depends on by itself.
    """
    wheels = [each for each in requirements if canonicalize_name(each.name) != TORCH]
    asks_torch = 0 < len(wheels) < len(requirements)
    if asks_torch:
        environment = _with_asked_torch(environment, requirements)
        requirements = wheels
    asked = {canonicalize_name(requirement.name): requirement for requirement in requirements}
    environment = search.target(environment)
    with open_finder(asked, environment, search) as finder:
        candidates: dict[ProjectName, Sequence[Candidate]] = {name: finder.fitting_candidates(name) for name in asked}
        of_sources = dict.fromkeys({TORCH, *others} - asked.keys(), False)
        required = RequiredWheels(
            asked=asked, finder=finder, candidates=candidates, wanted=asked, of_sources=of_sources
        )

        resolution, _ = choose_inspected(partial(required.choose, environment), finder.pages, required.update)
        resolution = required.finish(without_aliases(resolution))
        projects = required.wanted
        outcomes = tuple(each for name in projects for each in finder.outcomes(name).values())
        ignored = (each for name in projects for each in finder.variant_warnings(name))
        choices = {name: finder.with_platforms(choice) for name, choice in resolution.choices.items()}
        chosen = resolution.environment
        place = chosen.torch and TorchPlace.of(chosen.torch, chosen.cuda, chosen.platform, finder.facts)
        return replace(
            resolution,
            choices=choices,
            torch_backend=place.backend if place else None,
            torch_index=place.index if place else None,
            unresolved={name: finder.refine(each) for name, each in resolution.unresolved.items()},
            warnings=(*finder.warnings(*{**projects, **finder.homes}), *ignored, *resolution.warnings),
            sources=outcomes,
            asks_torch=asks_torch,
        )


def _with_asked_torch(environment: TargetEnvironment, requirements: Sequence[Requirement]) -> TargetEnvironment:
    """Limit the torch to what was asked for; an option must not name another."""
    asked = next(each for each in requirements if canonicalize_name(each.name) == TORCH)
    target = environment.with_torch_in(asked.specifier)
    if environment.torch and target.torch != environment.torch and environment.torch_release is None:
        raise UsageError("options-conflict", f"{asked} excludes torch {environment.torch}", hint="leave out --torch")
    return target


@contextmanager
def open_finder(projects: Iterable[ProjectName], environment: TargetEnvironment, search: Search) -> Iterator[Finder]:
    """Bring the pages that may list projects up to date, and cache each once it is read."""
    with open_cache(search) as cache:
        facts = read_facts()
        finder = Finder(
            sources=read_sources(search, cache),
            facts=facts,
            pages=Pages(cache, search),
            targets=targets_of(environment, facts),
        )
        finder.read(projects)
        yield finder
