"""From requirements to wheels: sources, pages, candidates, choice; and again if inspection shows a misfit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_cache_path

from wheelmill.client.choose.choice import Candidates, choose, targets_of, without_aliases
from wheelmill.client.choose.fit import TorchPlace, group_fits, is_for_other_torch, mismatches_inside
from wheelmill.client.records import (
    Candidate,
    Choice,
    LookupOutcome,
    Resolution,
    Source,
    SourceOutcome,
    TargetEnvironment,
    Unresolved,
    WheelInspection,
)
from wheelmill.client.sources.forms import LinkGroup
from wheelmill.client.sources.listing import (
    ListingPlace,
    candidates_of,
    count_variant_wheels,
    known_projects,
    outcomes_of,
    places_of,
)
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.client.sources.sources import PublishedSources, read_sources
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, words_like
from wheelmill.system import own_installation
from wheelmill.system.progress import QUIET, Progress, number_of
from wheelmill.system.records import plain_of, record_of

_ROUNDS: Final = 10
"""The most wheels of a project that are inspected."""

_UNREAD: Final = WheelInspection(requires_dist=())
"""Contents of a wheel that could not be inspected."""

Looks = Mapping[str, WheelInspection | str]
"""Result of each inspection by the wheel's URL, or why the wheel could not be inspected."""


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """A choice, and the inspections of wheels that led to it."""

    resolution: Resolution
    """The choices, with what their wheels require."""
    seen: Looks


def with_looks(candidates: Candidates, seen: Looks) -> Candidates:
    """Add their inspections to candidates."""
    return {
        name: [
            replace(candidate, inside=look)
            if isinstance(look := seen.get(candidate.url), WheelInspection)
            else candidate
            for candidate in each
        ]
        for name, each in candidates.items()
    }


def inspect(
    choose_with: Callable[[Looks], Resolution],
    cache: PageCache,
    *,
    offline: bool,
    confirm: bool = False,
    progress: Progress = QUIET,
) -> Inspection:
    """Inspect the chosen wheels, and choose again if one of them turns out not to fit.

    With ``confirm``, servers are also asked for the files of wheels that the cache or a manifest describes well enough.

    Returns:
        The last choice; its warnings list each wheel that was left out, with the reason.
    """
    seen: dict[str, WheelInspection | str] = {}
    left_out: dict[str, str] = {}
    for _ in range(_ROUNDS):
        resolution = choose_with(seen)
        unseen = [choice.candidate for choice in resolution.choices.values() if choice.candidate.url not in seen]
        seen |= look_into_all(unseen, cache, offline=offline, confirm=confirm, progress=progress)
        reasons = dict(_reasons_against(resolution, seen))
        seen |= {url: _UNREAD for url in reasons if isinstance(seen[url], str)}
        left_out |= reasons
        if not reasons:
            break
    else:
        resolution = choose_with(seen)
    chosen = {choice.candidate.url for choice in resolution.choices.values()}
    warnings = tuple(said for url, said in left_out.items() if url not in chosen)
    choices = {name: _with_notes(choice, seen, resolution.environment) for name, choice in resolution.choices.items()}
    return Inspection(resolution=replace(resolution, choices=choices, warnings=warnings), seen=seen)


def look_into_all(
    candidates: Sequence[Candidate],
    cache: PageCache,
    *,
    offline: bool,
    confirm: bool = False,
    progress: Progress = QUIET,
) -> Looks:
    """Inspect wheels in parallel, or take their inspections from the cache.

    With ``confirm``, servers are asked if they still have each file, also if the cache knows its content.
    """
    known = {candidate.url: inside for candidate in candidates if (inside := _recall(candidate, cache))}
    unasked = "was not looked into: --offline was given"
    found: dict[str, WheelInspection | str] = {each.url: known.get(each.url, unasked) for each in candidates}
    asked = [] if offline else [each for each in candidates if confirm or each.url not in known]
    if asked:
        from wheelmill.client.choose.wheel_inspection import find_gone, look_into  # not for what the cache has
        from wheelmill.web.client import ATTENDED, PARALLEL, Web
        from wheelmill.web.concurrency import begin

        with Web(retries=ATTENDED) as web:

            def look_at(candidate: Candidate) -> WheelInspection | str:
                gone = find_gone(candidate, web) if confirm else None
                return gone or known.get(candidate.url) or look_into(candidate, web)

            progress.line(f"looking into {', '.join(each.filename for each in asked)}")
            for candidate, future in zip(asked, begin(look_at, asked, threads=PARALLEL), strict=True):
                found[candidate.url] = look = future.result()
                if not isinstance(look, str) and not look.gone:
                    _keep(look, candidate, cache)
        progress.line("")
    return found


def _keep(inside: WheelInspection, candidate: Candidate, cache: PageCache) -> None:
    """Cache an inspection under the hash of its wheel; without a hash, a changed wheel would go unnoticed."""
    if candidate.sha256:
        cache.keep_fact(f"inside/3:{candidate.sha256}", json.dumps(plain_of(inside)))


def _recall(candidate: Candidate, cache: PageCache) -> WheelInspection | None:
    """Read the inspection of a wheel from the cache; None if there is none."""
    kept = cache.fact(f"inside/3:{candidate.sha256}") if candidate.sha256 else None
    if kept is None:
        return None
    inside: WheelInspection = record_of(WheelInspection, json.loads(kept))
    return inside


def _reasons_against(resolution: Resolution, seen: Looks) -> Iterator[tuple[str, str]]:
    """Yield the chosen wheels that do not fit, by their URLs, with every reason."""
    for choice in resolution.choices.values():
        candidate = choice.candidate
        look = seen[candidate.url]
        inside = _UNREAD if isinstance(look, str) else look
        against = mismatches_inside(inside, candidate.label, resolution.environment)
        if reasons := "; ".join(mismatch.reason for mismatch in against):
            yield candidate.url, f"left out {candidate.filename}: {reasons}"


def _with_notes(choice: Choice, seen: Looks, target: TargetEnvironment) -> Choice:
    """Add the requirements of its wheel to a choice, and a warning about what could not be inspected."""
    look = seen.get(choice.candidate.url)
    if look is None:
        return replace(choice, notes=(*choice.notes, f"was not looked into: {_ROUNDS} better ones did not fit"))
    if isinstance(look, str):
        return replace(choice, notes=(*choice.notes, look))
    notes = list(choice.notes)
    label = choice.candidate.label
    if is_for_other_torch(label, target):
        notes.append(f"is built for torch {label.torch}: torch {target.torch} has its symbols, which is no proof")
    if not look.code_read:
        notes.append("its compiled code was not read")
    candidate = replace(choice.candidate, inside=look)
    return replace(choice, candidate=candidate, requires_dist=look.requires_dist, notes=tuple(notes))


_EXPLAINED: Final = "'wheelmill explain --variants {}' says which this machine gets"


@dataclass(frozen=True, kw_only=True)
class Search:
    """Options for finding wheels, of every command that does so."""

    named: Sequence[str] = ()
    """Sources that replace those that ship."""
    extra: Sequence[str] = ()
    """Sources that come before the others."""
    offline: bool = False
    """Use only what the cache has."""
    refresh: bool = False
    """Ask the server even for pages that are still fresh."""
    use_cache: bool = True
    look: bool = True
    """Inspect wheels before choosing."""
    confirm: bool = False
    """Ask the server for the file of each inspected wheel in any case, since it will be downloaded."""
    other_torch: bool = False
    """Accept a wheel for another torch if the target's torch has its symbols."""
    progress: Progress = QUIET
    """Is told what the command waits for."""

    def target(self, environment: TargetEnvironment) -> TargetEnvironment:
        """Return the target, which accepts wheels for other torches if the options do.

        Raises:
            UsageError: a wheel for another torch is accepted, and the target has none.
        """
        if self.other_torch and environment.torch is None:
            raise UsageError(
                "no-torch-to-compare",
                "--allow-other-torch needs a torch to compare with",
                hint="install it, or give --torch",
            )
        return replace(environment, other_torch=self.other_torch)

    def sources(self, cache: PageCache, warn: Callable[[str], None]) -> tuple[Source, ...]:
        """Read the sources to look in.

        Raises:
            UsageError: one of them is no source.
            ConfigurationError: a file of sources is wrong.
        """
        if not self.use_cache:
            return read_sources(self.named, self.extra, cache)
        published = PublishedSources(
            folder=cache_folder(), offline=self.offline, refresh=self.refresh, warn=warn, progress=self.progress
        )
        return read_sources(self.named, self.extra, cache, published.newer_at)

    def open_cache(self) -> PageCache:
        """Open the cache of pages."""
        return PageCache(cache_folder() if self.use_cache else None)


def read_facts() -> Compatibility:
    """Read ``compatibility.yml`` as JSON from 'wheelmill config schema --write': YAML would take too long."""
    facts: Compatibility = record_of(
        Compatibility, json.loads((own_installation.CONFIG / "compatibility.json").read_bytes())
    )
    return facts


def cache_folder() -> Path:
    """Return the folder of the client's cache."""
    return user_cache_path("wheelmill") / "client"


def resolve(requirements: Sequence[Requirement], environment: TargetEnvironment, search: Search) -> Resolution:
    """Find the wheels for requirements, at most one requirement for each project.

    Facts that the environment leaves open are decided for all of them together.

    Raises:
        UsageError: one of the sources is none.
        ConfigurationError: a file of sources is wrong.
    """
    projects = [canonicalize_name(requirement.name) for requirement in requirements]
    environment = search.target(environment)
    with open_finder(projects, environment, search) as found:
        candidates = {name: found.fitting_candidates(name) for name in projects}

        def choose_with(seen: Looks) -> Resolution:
            resolution = choose(requirements, environment, with_looks(candidates, seen), found.facts)
            if resolution.unresolved:
                # Wheels that do not fit are read only where one of them must serve as advice.
                candidates.update({name: found.all_candidates(name) for name in resolution.unresolved})
                resolution = choose(requirements, environment, with_looks(candidates, seen), found.facts)
            return resolution

        look = (
            inspect(
                choose_with, found.pages.cache, offline=search.offline, confirm=search.confirm, progress=search.progress
            )
            if search.look
            else None
        )
        resolution = without_aliases(look.resolution) if look else choose_with({})
        outcomes = tuple(each for name in projects for each in found.outcomes(name))
        passed_over = (each for name in projects for each in found.variants_passed_over(name))
        return replace(
            _with_torch_place(resolution, found.facts),
            unresolved={name: found.told_better(each) for name, each in resolution.unresolved.items()},
            warnings=(*found.warnings(outcomes), *passed_over, *resolution.warnings),
            sources=outcomes,
        )


def _with_torch_place(resolution: Resolution, facts: Compatibility) -> Resolution:
    """Add the index of torch to a resolution if a torch was chosen for a CUDA."""
    chosen = resolution.environment
    if not (chosen.torch and chosen.cuda):
        return resolution
    place = TorchPlace.of(chosen.torch, chosen.cuda, chosen.platform, facts)
    return replace(resolution, torch_backend=place.backend, torch_index=place.index)


@contextmanager
def open_finder(projects: Sequence[ProjectName], environment: TargetEnvironment, search: Search) -> Iterator[Finder]:
    """Bring the pages that may list projects up to date, and keep each as it is read."""
    with search.open_cache() as cache:
        facts = read_facts()
        pages = Pages(cache, offline=search.offline, refresh=search.refresh, progress=search.progress)
        found = Finder(
            sources=search.sources(cache, cache.warnings.append),
            facts=facts,
            pages=pages,
            targets=targets_of(environment, facts),
        )
        found.pages.update(place.url for project in projects for place in found.places(project))
        yield found


@dataclass(frozen=True, kw_only=True)
class Finder:
    """The wheels of projects in sources, for certain targets or for all."""

    sources: Sequence[Source]
    facts: Compatibility
    pages: Pages
    targets: Sequence[TargetEnvironment]
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def places(self, project: ProjectName) -> list[ListingPlace]:
        """The pages that may list a project."""
        return places_of(project, self.sources, self.targets, self.facts)

    def fitting_candidates(self, project: ProjectName) -> list[Candidate]:
        """The wheels of a project whose tags and labels fit one of the targets."""
        return candidates_of(project, self.places(project), self.pages, self._fits)

    def all_candidates(self, project: ProjectName) -> list[Candidate]:
        """Every wheel of a project."""
        return candidates_of(project, self.places(project), self.pages)

    def outcomes(self, project: ProjectName) -> list[SourceOutcome]:
        """The outcome of each source for a project."""
        return outcomes_of(project, self.places(project), self.pages)

    def name_meant(self, project: ProjectName) -> str | None:
        """Suggest similar names for a misspelt project; None if a source has it, or no name is similar."""
        outcomes = self.outcomes(project)
        if any(each.outcome is LookupOutcome.FOUND for each in outcomes):
            return None
        answering = [each.source for each in outcomes if each.outcome in (LookupOutcome.HAS_NONE, LookupOutcome.ABSENT)]
        known = known_projects(self.sources, self.pages.cache, answering=() if self.pages.offline else answering)
        meant = [] if project in known else words_like(project, known)
        return f"did you mean {' or '.join(meant)}?" if meant else None

    def warnings(self, outcomes: Iterable[SourceOutcome]) -> tuple[str, ...]:
        """List the problems of the sources and their pages, each once."""
        of_sources = filter(None, (each.warning for each in outcomes))
        return tuple(dict.fromkeys((*self.pages.warnings, *of_sources)))

    def told_better(self, absence: Unresolved) -> Unresolved:
        """Improve the reason why a project has no wheel: it has only variants, or its name is misspelt."""
        project = absence.project
        if (count := self._variants(project)) and not self.all_candidates(project):
            variants = number_of(count, "variant wheel")
            reason = f"sources have {variants} of it (PEP 825) and no plain one, which is what is chosen here"
            return replace(absence, reason=reason, suggestion=_EXPLAINED.format(project))
        return replace(absence, suggestion=self.name_meant(project) or absence.suggestion)

    def variants_passed_over(self, project: ProjectName) -> tuple[str, ...]:
        """Warn about variant wheels, which are never candidates; empty if there are none."""
        count, hint = self._variants(project), _EXPLAINED.format(project)
        return (f"{project}: {number_of(count, 'variant wheel')} (PEP 825) passed over; {hint}",) if count else ()

    def _variants(self, project: ProjectName) -> int:
        return count_variant_wheels(project, self.places(project), self.pages)

    def _fits(self, place: ListingPlace, group: LinkGroup) -> bool:
        key = place.source.torch, place.source.gpus, place.built_for, group.local, group.tags
        if key not in self._known:  # many pages have the same groups
            self._known[key] = any(group_fits(place, group, target, self.facts) for target in self.targets)
        return self._known[key]
