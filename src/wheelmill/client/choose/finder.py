"""Wheels of projects in the sources, with their variants, for certain targets or for all; and similar names."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from packaging.tags import Tag
from packaging.utils import BuildTag
from packaging.version import Version

from wheelmill.client.choose.fit import mismatches_of_label, mismatches_of_tags
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
from wheelmill.client.sources.pages import PageCache, PageOutcome, Pages
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.sources import PLACEHOLDERS
from wheelmill.errors import UnreadableError, WheelmillError
from wheelmill.names import ProjectName, Sha256, is_sha256, project_name, version_or_none, words_like
from wheelmill.system.progress import number_of
from wheelmill.web.json_pages import read_project_list
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, LARGEST, Link, absolute, read_html
from wheelmill.wheel.label import BuiltFor, Torches
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX, VariantLabel, read_tags, split_label
from wheelmill.wheel.platforms import platforms_of

if TYPE_CHECKING:
    from wheelmill.web.client import Web

_EXPLAIN_HINT: Final = "run 'wheelmill explain --variants {}' to see the one for this machine"


@dataclass(frozen=True, kw_only=True)
class ListingPlace:
    """A page that may list wheels of a project."""

    source: Source
    url: str
    filled: Source
    """The source with the placeholders of its URL filled in: what an installer can be pointed at."""
    built_for: BuiltFor
    """The values in place of the placeholders, which hold for all wheels of the page."""
    torches: Torches = field(compare=False)
    """The torches that exist for each CUDA."""

    def label_of(self, group: LinkGroup) -> BuiltFor:
        """Read the build of a group's wheels from their names, or else from their page."""
        return BuiltFor.parse(group.local).decided(self.torches).filled_in(self.built_for)


Accepts = Callable[[ListingPlace, LinkGroup], bool]
"""Filter of wheels by their page, tags and local version."""


@dataclass(frozen=True, kw_only=True)
class VariantList:
    """The file that lists the variants of a version."""

    url: str
    """Absolute, without a fragment."""
    sha256: Sha256 | None


@dataclass(frozen=True, kw_only=True)
class VariantWheel:
    """One of several variants of a wheel, or the plain wheel beside them."""

    candidate: Candidate
    label: VariantLabel | None
    """None for a plain wheel."""
    listed: VariantList | None = None
    """List with the properties of its variant; None if its page has none."""


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
        """List the pages that may have wheels of a project for any of the targets, in the order of the sources."""
        home = [each for each in self.sources if each.name == self.homes.get(project)]
        others = [each for each in self.sources if each not in home]
        sources = [*(replace(each, projects=frozenset(), distribution=None) for each in home), *others]
        own = [number for number, source in enumerate(sources, 1) if source.is_exclusive and source.serves(project)]
        platforms = {target.platform.plain for target in self.targets}
        return [
            place
            for source in sources[: max(own, default=None)]
            if source.serves(project) and (not source.platforms or not platforms.isdisjoint(source.platforms))
            for place in {place.url: place for place in self._places_in(source, project)}.values()
        ]

    def _places_in(self, source: Source, project: ProjectName) -> Iterator[ListingPlace]:
        """Yield the pages of one source that may list a project: one for each target if its URL has placeholders."""
        for target in self.targets if "{" in source.url else self.targets[:1]:
            known = self.facts.torch.get(target.torch) if target.torch else None
            torch, release = str(target.torch or ""), known.release if known else ""
            cuda = target.cuda.tag.removeprefix("cu") if target.cuda else ""
            values = (cuda, torch, release, release.replace(".", ""), torch.replace(".", ""))
            named = {name: each for name, each in zip(PLACEHOLDERS, values, strict=True) if f"{{{name}}}" in source.url}
            if not all(named.values()):
                continue  # the target has no value for the URL
            url = source.url
            for name, value in named.items():
                url = url.replace(f"{{{name}}}", value)
            pages = {
                SourceKind.SIMPLE: f"{url.rstrip('/')}/{source.distribution or project}/",
                SourceKind.GITHUB: f"{url}?per_page={LARGEST}",
            }
            yield ListingPlace(
                source=source,
                url=pages.get(source.kind, url),
                filled=replace(source, url=url),
                built_for=BuiltFor.of(
                    cuda=target.cuda if "cuda" in named else None, torch=target.torch if {*named} - {"cuda"} else None
                ),
                torches=self.facts.torches_of,
            )

    def fitting_candidates(self, project: ProjectName) -> list[Candidate]:
        """The wheels of a project whose tags and labels fit one of the targets."""
        return self.all_candidates(project, self._fits)

    def all_candidates(self, project: ProjectName, accepts: Accepts | None = None) -> list[Candidate]:
        """Every wheel of a project, or those that a filter accepts."""
        candidates: dict[tuple[str, str | None], Candidate] = {}
        for place, group, link, url in self._links(project, accepts):
            if candidate := _candidate_of(place, group, link, url):
                # Some pages repeat a link, and some sources share a page.
                candidates.setdefault((candidate.url, candidate.sha256), candidate)
        return list(candidates.values())

    def _links(
        self, project: ProjectName, accepts: Accepts | None = None, *, variants: bool = False
    ) -> Iterator[tuple[ListingPlace, LinkGroup, Link, str]]:
        """Yield the links to plain wheels or to variants, each with its page, its group and its absolute URL."""
        cache = self.pages.cache
        for place in self.places(project):
            for page in self.pages.chain(place.url):
                for number, group in cache.groups(page.id, place.source.distribution or project, variants=variants):
                    for link in cache.links(number) if accepts is None or accepts(place, group) else ():
                        if url := absolute(page.base, link.url):
                            yield place, group, link, url

    def _fits(self, place: ListingPlace, group: LinkGroup) -> bool:
        """True if there is no reason against a whole group of wheels of a page, for one of the targets."""
        key = place.source.torch, place.source.gpus, place.built_for, group.local, group.tags
        if key not in self._known:  # many pages have the same groups
            label = place.label_of(group)
            self._known[key] = any(
                not mismatches_of_tags(tags_in(group.tags), target)
                and next(mismatches_of_label(label, place.source, target, self.facts), None) is None
                for target in self.targets
            )
        return self._known[key]

    def with_platforms(self, choice: Choice) -> Choice:
        """Add the platforms for which the simple index of a choice has the same version."""
        chosen, local = choice.candidate, choice.candidate.version.local or ""
        if chosen.source.kind is not SourceKind.SIMPLE:
            return choice
        same = self.all_candidates(
            chosen.project, lambda place, group: place.filled == chosen.source and group.local == local
        )
        tags = [tag for each in same if each.version == chosen.version for tag in each.tags]
        return replace(choice, platforms=platforms_of(tags))

    def variant_wheels(self, project: ProjectName) -> list[VariantWheel]:
        """List every variant wheel of a project."""
        lists: dict[tuple[str, Version | None], VariantList] = {}
        wheels: dict[str, tuple[str, VariantLabel, Candidate]] = {}
        for place, group, link, url in self._links(project, variants=True):
            if group.variant == VARIANTS_SUFFIX:
                version = version_of(link.filename.removesuffix(VARIANTS_SUFFIX).partition("-")[2])
                lists.setdefault((place.url, version), VariantList(url=url, sha256=_sha256_in(link.sha256)))
            elif candidate := _candidate_of(place, group, link, url):
                wheels.setdefault(url, (place.url, VariantLabel(group.variant), candidate))
        return [
            VariantWheel(candidate=candidate, label=label, listed=lists.get((page, candidate.version)))
            for page, label, candidate in wheels.values()
        ]

    def ask_again(self, *projects: ProjectName) -> bool:
        """Ask servers for the pages of projects that came from the cache; False if there are none."""
        return self.pages.ask_again(place.url for project in projects for place in self.places(project))

    def outcomes(self, project: ProjectName) -> Mapping[Source, SourceOutcome]:
        """The outcome of each source for a project."""
        of_sources: dict[Source, list[PageOutcome]] = {}
        for place in self.places(project):
            outcome = self.pages.outcome(place.url, place.source.distribution or project)
            of_sources.setdefault(place.source, []).append(outcome)
        order, outcomes = list(LookupOutcome), {}
        for source, pages in of_sources.items():
            page = min(pages, key=lambda each: order.index(each.outcome))
            is_empty_page = page.outcome is LookupOutcome.HAS_NONE and source.kind is SourceKind.FIND_LINKS
            outcomes[source] = SourceOutcome(
                project=project,
                source=source.name,
                outcome=page.outcome,
                url=page.url,
                detail=page.detail + ("; an index is named simple:URL" if page.detail and is_empty_page else ""),
                cached=self.pages.is_cached(page.url),
            )
        return outcomes

    def _similar_names(self, project: ProjectName) -> str | None:
        """Suggest similar names for a misspelt project; None if a source has it, or no name is similar."""
        outcomes = self.outcomes(project)
        if any(each.outcome is LookupOutcome.FOUND for each in outcomes.values()):
            return None
        answers = (LookupOutcome.HAS_NONE, LookupOutcome.ABSENT)
        answering = [source for source, each in outcomes.items() if each.outcome in answers]
        if not self.pages.search.offline:
            _update_lists(answering, self.pages)
        known = known_projects(self.sources, self.pages.cache)
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
        """Give a better reason for variants or other platforms only, and a suggestion for a misspelt name."""
        project = absence.project
        of_project = (source.platforms for source in self.sources if project in source.projects)
        if not self.places(project) and (platforms := {str(each) for known in of_project for each in known}):
            return replace(absence, reason=f"its sources have wheels for {', '.join(sorted(platforms))} only")
        if (variants := self._count_variants(project)) and not self.all_candidates(project):
            reason = f"sources have {variants} of it (PEP 825) and no plain one"
            return replace(absence, reason=reason, suggestion=_EXPLAIN_HINT.format(project))
        return replace(absence, suggestion=self._similar_names(project) or absence.suggestion)

    def variant_warnings(self, project: ProjectName) -> tuple[str, ...]:
        """Warn about variant wheels, which are never candidates; empty if there are none."""
        variants = self._count_variants(project)
        return (f"{project}: ignoring {variants} (PEP 825); {_EXPLAIN_HINT.format(project)}",) if variants else ()

    def _count_variants(self, project: ProjectName) -> str:
        """Count the variant wheels of a project in words, by their names: some sources share pages; empty if none."""
        links = self._links(project, variants=True)
        names = {link.filename for _, group, link, _ in links if group.variant != VARIANTS_SUFFIX}
        return number_of(len(names), "variant wheel") if names else ""


def _candidate_of(place: ListingPlace, group: LinkGroup, link: Link, url: str) -> Candidate | None:
    """Create a candidate; None if its name has no valid version or tags."""
    plain = split_label(link.filename)[0] if group.variant else link.filename
    _project, written, *middle = plain.removesuffix(WHEEL_SUFFIX).split("-")[:-3]
    version, tags = version_of(written), tags_in(group.tags)
    if version is None or not tags:
        return None
    metadata = link.core_metadata or link.legacy_metadata or ""
    metadata_sha256 = _sha256_in(metadata.removeprefix("sha256="))
    return Candidate(
        filename=link.filename,
        project=group.project,
        version=version,
        build=_build_tag(middle[0]) if middle else (),
        tags=tags,
        label=place.label_of(group),
        url=url,
        sha256=_sha256_in(link.sha256),
        size=link.size,
        requires_python=link.requires_python,
        has_metadata=metadata == "true" or metadata_sha256 is not None,
        metadata_sha256=metadata_sha256,
        yanked=link.yanked,
        source=place.filled,
    )


@functools.cache
def version_of(text: str) -> Version | None:
    """Parse a version as a file name writes it; None if it is invalid."""
    return version_or_none(text.replace("_", "-"))


@functools.cache
def tags_in(text: str) -> frozenset[Tag]:
    """Parse the tags of a compressed set (PEP 425); empty if it is invalid, or has too many."""
    try:
        return read_tags(text)
    except UnreadableError:
        return frozenset()


def _sha256_in(text: str | None) -> Sha256 | None:
    """Parse a hash as pages write it; None if it is invalid."""
    return Sha256(text.lower()) if text and is_sha256(text.lower()) else None


def _build_tag(text: str) -> BuildTag:
    """Parse a build tag: ``2post`` sorts as 2, then ``post`` (PEP 427)."""
    letters = text.lstrip("0123456789")
    return int(text[: len(text) - len(letters)]), letters


_LARGEST: Final = 4 << 20
"""Bytes of a list of projects. In a longer one, nearly every misspelling is a name of another project."""
_SECONDS: Final = 10.0
"""For requesting a list, which is of no use if the name is right."""


def _update_lists(sources: Iterable[Source], pages: Pages) -> None:
    """Ask sources for the lists of their projects."""
    lists = [each.url for each in sources if each.kind is SourceKind.SIMPLE and not each.projects]
    asked = [url for url in lists if "{" not in url]
    for url, names in pages.search.budget.ask(_ask_for_list, asked, seconds=_SECONDS):
        if names and not isinstance(names, WheelmillError):
            pages.cache.keep_fact(f"projects:{url}", json.dumps(sorted(names)))


def known_projects(sources: Iterable[Source], cache: PageCache) -> set[ProjectName]:
    """Collect the projects of sources, by cached pages and lists."""
    projects: set[ProjectName] = set()
    for source in sources:
        if source.projects:
            projects |= set(_project_names(source.projects))
            continue
        projects |= set(_project_names(cache.projects_below(source.url.partition("{")[0])))
        if source.kind is SourceKind.SIMPLE:
            projects |= set(json.loads(cache.fact(f"projects:{source.url}") or "[]"))
    return projects


def _ask_for_list(web: Web, url: str) -> set[ProjectName]:
    answer = web.get(f"{url.rstrip('/')}/", accept=f"{JSON_TYPE}, {HTML_TYPES[0]};q=0.1", limit=_LARGEST)
    if not answer.ok:
        return set()
    read = read_html if answer.content_type in HTML_TYPES else read_project_list
    links = read(answer.content, answer.url).links
    names = (link.url.partition("?")[0].rstrip("/").rpartition("/")[2] for link in links)
    return set(_project_names(name for name in names if not name.endswith(".whl")))


def _project_names(texts: Iterable[str]) -> Iterator[ProjectName]:
    """Yield the texts that are names of projects; a page may link to anything."""
    for text in texts:
        with suppress(ValueError):
            yield project_name(text)
