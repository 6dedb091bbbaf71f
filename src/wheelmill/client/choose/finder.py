"""Wheels of projects in the sources, for certain targets or for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from wheelmill.client.choose.fit import group_fits
from wheelmill.client.records import (
    Candidate,
    Choice,
    LookupOutcome,
    Source,
    SourceKind,
    SourceOutcome,
    TargetEnvironment,
    Unresolved,
    messages_of,
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
from wheelmill.client.sources.pages import Pages
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import ProjectName, words_like
from wheelmill.system.progress import number_of
from wheelmill.wheel.platforms import platforms_of

_EXPLAIN_HINT: Final = "run 'wheelmill explain --variants {}' to see the one for this machine"


@dataclass(frozen=True, kw_only=True)
class Finder:
    """The wheels of projects in sources, for certain targets or for all."""

    sources: Sequence[Source]
    facts: Compatibility
    pages: Pages
    targets: Sequence[TargetEnvironment]
    homes: dict[ProjectName, str] = field(default_factory=dict)
    """The name of the source to look in first, whether its projects are known or not, for some projects."""
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def read(self, projects: Iterable[ProjectName]) -> None:
        """Bring the pages that may list projects up to date."""
        places = [place for project in projects for place in self.places(project)]
        self.pages.update(place.url for place in places)
        # A user's own source, which names no projects, may just have been corrected.
        absent = [each.url for each in places if not each.source.projects and self.pages.is_absent(each.url)]
        if absent:
            self.pages.ask_again(absent)

    def places(self, project: ProjectName) -> list[ListingPlace]:
        """The pages that may list a project."""
        home = [each for each in self.sources if each.name == self.homes.get(project)]
        first = [replace(each, projects=frozenset(), distribution=None) for each in home]
        others = [each for each in self.sources if each not in home]
        return places_of(project, [*first, *others], self.targets, self.facts)

    def fitting_candidates(self, project: ProjectName) -> list[Candidate]:
        """The wheels of a project whose tags and labels fit one of the targets."""
        return candidates_of(project, self.places(project), self.pages, self._fits)

    def all_candidates(self, project: ProjectName) -> list[Candidate]:
        """Every wheel of a project."""
        return candidates_of(project, self.places(project), self.pages)

    def with_platforms(self, choice: Choice) -> Choice:
        """Add the platforms for which the simple index of a choice has the same version."""
        chosen, local = choice.candidate, choice.candidate.version.local or ""
        if chosen.source.kind is not SourceKind.SIMPLE:
            return choice
        places = [each for each in self.places(chosen.project) if each.filled == chosen.source]
        same = candidates_of(chosen.project, places, self.pages, lambda _place, group: group.local == local)
        tags = [tag for each in same if each.version == chosen.version for tag in each.tags]
        return replace(choice, platforms=platforms_of(tags))

    def ask_again(self, *projects: ProjectName) -> bool:
        """Ask servers for the pages of projects that came from the cache; False if there are none."""
        return self.pages.ask_again(place.url for project in projects for place in self.places(project))

    def outcomes(self, project: ProjectName) -> Mapping[Source, SourceOutcome]:
        """The outcome of each source for a project."""
        return outcomes_of(project, self.places(project), self.pages)

    def _similar_names(self, project: ProjectName) -> str | None:
        """Suggest similar names for a misspelt project; None if a source has it, or no name is similar."""
        outcomes = self.outcomes(project)
        if any(each.outcome is LookupOutcome.FOUND for each in outcomes.values()):
            return None
        answers = (LookupOutcome.HAS_NONE, LookupOutcome.ABSENT)
        answering = [source for source, each in outcomes.items() if each.outcome in answers]
        asked = () if self.pages.offline else answering
        known = known_projects(self.sources, self.pages.cache, answering=asked, budget=self.pages.budget)
        meant = [] if project in known else words_like(project, known)
        return f"did you mean {' or '.join(meant)}?" if meant else None

    def warnings(self, *projects: ProjectName) -> tuple[str, ...]:
        """List the problems of the sources and their pages, each once."""
        outcomes = (each for project in projects for each in self.outcomes(project).items())
        of_sources = messages_of(
            outcome
            for source, outcome in outcomes
            if not outcome.is_usual_for(source) and (outcome.outcome.is_open or outcome.project not in self.homes)
        )
        return tuple(dict.fromkeys((*self.pages.warnings, *of_sources)))

    def refine(self, absence: Unresolved) -> Unresolved:
        """Give a better reason if a project has only variant wheels, and a suggestion if its name may be misspelt.

        Sources that have it for other platforms only were not asked.
        """
        project = absence.project
        of_project = (source.platforms for source in self.sources if project in source.projects)
        if not self.places(project) and (platforms := {str(each) for known in of_project for each in known}):
            return replace(absence, reason=f"its sources have wheels for {', '.join(sorted(platforms))} only")
        if (count := self._variants(project)) and not self.all_candidates(project):
            variants = number_of(count, "variant wheel")
            reason = f"sources have {variants} of it (PEP 825) and no plain one"
            return replace(absence, reason=reason, suggestion=_EXPLAIN_HINT.format(project))
        return replace(absence, suggestion=self._similar_names(project) or absence.suggestion)

    def variant_warnings(self, project: ProjectName) -> tuple[str, ...]:
        """Warn about variant wheels, which are never candidates; empty if there are none."""
        count, hint = self._variants(project), _EXPLAIN_HINT.format(project)
        return (f"{project}: ignoring {number_of(count, 'variant wheel')} (PEP 825); {hint}",) if count else ()

    def _variants(self, project: ProjectName) -> int:
        return count_variant_wheels(project, self.places(project), self.pages)

    def _fits(self, place: ListingPlace, group: LinkGroup) -> bool:
        key = place.source.torch, place.source.gpus, place.built_for, group.local, group.tags
        if key not in self._known:  # many pages have the same groups
            self._known[key] = any(group_fits(place, group, target, self.facts) for target in self.targets)
        return self._known[key]
