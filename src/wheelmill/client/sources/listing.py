"""Listing the wheels of a project from all sources, with its variant wheels, or naming similar projects."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from packaging.tags import Tag
from packaging.utils import BuildTag
from packaging.version import InvalidVersion, Version

from wheelmill.client.records import Candidate, LookupOutcome, Source, SourceKind, SourceOutcome, TargetEnvironment
from wheelmill.client.sources.forms import LinkGroup
from wheelmill.client.sources.pages import PageCache, PageOutcome, Pages
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.sources import PLACEHOLDERS
from wheelmill.errors import UnreadableError, WheelmillError
from wheelmill.names import ProjectName, Sha256, is_sha256, project_name
from wheelmill.web.budget import Budget
from wheelmill.web.json_pages import read_project_list
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, LARGEST, Link, absolute, read_html
from wheelmill.wheel.label import BuiltFor, Torches
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX, VariantLabel, read_tags, split_label

if TYPE_CHECKING:
    from wheelmill.web.client import Web

Accepts = Callable[["ListingPlace", LinkGroup], bool]

_EMPTY_LABEL: Final = BuiltFor()


@dataclass(frozen=True, kw_only=True)
class ListingPlace:
    """A page that may list wheels of a project."""

    source: Source
    url: str
    filled: Source
    """The source with the placeholders of its URL filled in: what an installer can be pointed at."""
    built_for: BuiltFor = _EMPTY_LABEL
    """The values in place of the placeholders, which hold for all wheels of the page."""
    torches: Torches = field(default_factory=dict, compare=False)
    """The torches that exist for each CUDA."""

    def label_of(self, group: LinkGroup) -> BuiltFor:
        """Read the build of a group's wheels from their names, or else from their page."""
        return BuiltFor.parse(group.local).decided(self.torches).filled_in(self.built_for)


def places_of(
    project: ProjectName, sources: Sequence[Source], targets: Sequence[TargetEnvironment], facts: Compatibility
) -> list[ListingPlace]:
    """List the pages that may have wheels of a project for any of these targets, in the order of the sources."""
    own = [number for number, source in enumerate(sources, 1) if source.is_exclusive and source.serves(project)]
    return [
        place
        for source in sources[: max(own, default=None)]
        if source.serves(project)
        if not source.platforms or not {target.platform.plain for target in targets}.isdisjoint(source.platforms)
        for place in {place.url: place for place in _places(source, project, targets, facts)}.values()
    ]


def candidates_of(
    project: ProjectName, places: Sequence[ListingPlace], pages: Pages, accepts: Accepts = lambda _place, _group: True
) -> list[Candidate]:
    """List the wheels of a project, in the order of its places; ``accepts`` filters them by tags and local version."""
    candidates: dict[tuple[str, str | None], Candidate] = {}
    for place in places:
        for base, group, link in _links_at(project, place, pages, accepts):
            if candidate := candidate_of(link, group, base, place):
                # Some pages repeat a link, and some sources share a page.
                candidates.setdefault((candidate.url, candidate.sha256), candidate)
    return list(candidates.values())


def outcomes_of(project: ProjectName, places: Sequence[ListingPlace], pages: Pages) -> dict[Source, SourceOutcome]:
    """Summarise the search for a project in each source, after its pages were updated."""
    of_sources: dict[Source, list[PageOutcome]] = {}
    for place in places:
        outcome = pages.outcome(place.url, place.source.distribution or project)
        of_sources.setdefault(place.source, []).append(outcome)
    place_of = list(LookupOutcome).index
    weightiest = {
        source: min(several, key=lambda each: place_of(each.outcome)) for source, several in of_sources.items()
    }
    return {
        source: SourceOutcome(
            project=project,
            source=source.name,
            outcome=page.outcome,
            url=page.url,
            detail=_detail_of(page, source),
            cached=pages.is_cached(page.url),
        )
        for source, page in weightiest.items()
    }


def _detail_of(page: PageOutcome, source: Source) -> str:
    lists_none = page.outcome is LookupOutcome.HAS_NONE and bool(page.detail)
    is_links = source.kind is SourceKind.FIND_LINKS
    return f"{page.detail}; an index is named simple:URL" if lists_none and is_links else page.detail


def candidate_of(link: Link, group: LinkGroup, base: str, place: ListingPlace) -> Candidate | None:
    """Create a candidate; None if its name has no valid version or tags, or its link is no URL."""
    plain = split_label(link.filename)[0] if group.variant else link.filename
    _project, written, *middle = plain.removesuffix(WHEEL_SUFFIX).split("-")[:-3]
    version, tags = version_of(written), tags_in(group.tags)
    url = absolute(base, link.url)
    if version is None or not tags or url is None:
        return None
    metadata = link.core_metadata or link.legacy_metadata or ""
    metadata_sha256 = sha256_in(metadata.removeprefix("sha256="))
    return Candidate(
        filename=link.filename,
        project=group.project,
        version=version,
        build=_build_tag(middle[0]) if middle else (),
        tags=tags,
        label=place.label_of(group),
        url=url,
        sha256=sha256_in(link.sha256),
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
    try:
        return Version(text.replace("_", "-"))
    except InvalidVersion:
        return None


@functools.cache
def tags_in(text: str) -> frozenset[Tag]:
    """Parse the tags of a compressed set (PEP 425); empty if it is invalid, or has too many."""
    try:
        return read_tags(text)
    except UnreadableError:
        return frozenset()


def sha256_in(text: str | None) -> Sha256 | None:
    """Parse a hash as pages write it; None if it is invalid."""
    return Sha256(text.lower()) if text and is_sha256(text.lower()) else None


def _build_tag(text: str) -> BuildTag:
    """Parse a build tag: ``2post`` sorts as 2, then ``post`` (PEP 427)."""
    letters = text.lstrip("0123456789")
    return int(text[: len(text) - len(letters)]), letters


def _places(
    source: Source, project: ProjectName, targets: Sequence[TargetEnvironment], facts: Compatibility
) -> Iterator[ListingPlace]:
    """Yield the pages of one source that may list a project: one for each target if its URL has placeholders."""
    if "{" not in source.url:
        yield ListingPlace(source=source, filled=source, url=_page_of(source, project), torches=facts.torches_of)
        return
    for target in targets:
        known = facts.torch.get(target.torch) if target.torch else None
        release = known.release if known else ""
        values = (
            target.cuda.tag.removeprefix("cu") if target.cuda else "",
            str(target.torch or ""),
            release,
            release.replace(".", ""),
            str(target.torch or "").replace(".", ""),
        )
        named = {name: each for name, each in zip(PLACEHOLDERS, values, strict=True) if f"{{{name}}}" in source.url}
        if all(named.values()):  # else the URL needs a value that the target does not have
            url = source.url
            for name, value in named.items():
                url = url.replace(f"{{{name}}}", value)
            built_for = BuiltFor.of(
                cuda=target.cuda if "cuda" in named else None, torch=target.torch if {*named} - {"cuda"} else None
            )
            filled = replace(source, url=url)
            yield ListingPlace(
                source=source,
                url=_page_of(filled, project),
                filled=filled,
                built_for=built_for,
                torches=facts.torches_of,
            )


def _page_of(source: Source, project: ProjectName) -> str:
    match source.kind:
        case SourceKind.SIMPLE:
            return f"{source.url.rstrip('/')}/{source.distribution or project}/"
        case SourceKind.GITHUB:
            return f"{source.url}?per_page={LARGEST}"
        case _:
            return source.url


_LARGEST: Final = 4 << 20
"""Bytes of a list of projects. In a longer one, nearly every misspelling is a name of another project."""
_SECONDS: Final = 10.0
"""For requesting a list, which is of no use if the name is right."""


def known_projects(
    sources: Iterable[Source], cache: PageCache, *, answering: Iterable[Source] = (), budget: Budget | None = None
) -> set[ProjectName]:
    """Collect the projects of sources, by cached pages and lists; ``answering`` sources are asked for new lists."""
    lists = [each.url for each in answering if each.kind is SourceKind.SIMPLE and not each.projects]
    asked = [url for url in lists if "{" not in url]
    for url, names in (budget or Budget()).ask(_ask_for_list, asked, seconds=_SECONDS):
        if names and not isinstance(names, WheelmillError):
            cache.keep_fact(f"projects:{url}", json.dumps(sorted(names)))
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


def variant_wheels(project: ProjectName, places: Sequence[ListingPlace], pages: Pages) -> list[VariantWheel]:
    """List every variant wheel of a project; see `candidates_of`."""
    by_url: dict[str, VariantWheel] = {}
    for place in places:
        for wheel in _variant_wheels_at(project, place, pages):
            by_url.setdefault(wheel.candidate.url, wheel)
    return list(by_url.values())


def count_variant_wheels(project: ProjectName, places: Sequence[ListingPlace], pages: Pages) -> int:
    """Count the variant wheels of a project, by their names: some sources share pages."""
    links = (each for place in places for each in _links_at(project, place, pages, variants=True))
    return len({link.filename for _, group, link in links if group.variant != VARIANTS_SUFFIX})


def _variant_wheels_at(project: ProjectName, place: ListingPlace, pages: Pages) -> Iterator[VariantWheel]:
    lists: dict[Version, VariantList] = {}
    candidates: list[tuple[Candidate, VariantLabel]] = []
    for base, group, link in _links_at(project, place, pages, variants=True):
        if group.variant == VARIANTS_SUFFIX:
            version = version_of(link.filename.removesuffix(VARIANTS_SUFFIX).partition("-")[2])
            url = absolute(base, link.url)
            if version and url:
                lists.setdefault(version, VariantList(url=url, sha256=sha256_in(link.sha256)))
        elif candidate := candidate_of(link, group, base, place):
            candidates.append((candidate, VariantLabel(group.variant)))
    for candidate, label in candidates:
        yield VariantWheel(candidate=candidate, label=label, listed=lists.get(candidate.version))


def _links_at(
    project: ProjectName,
    place: ListingPlace,
    pages: Pages,
    accepts: Accepts = lambda _place, _group: True,
    *,
    variants: bool = False,
) -> Iterator[tuple[str, LinkGroup, Link]]:
    """Yield the links of a place to plain wheels or to variants, with the base of the page and the group of each."""
    for page in pages.chain(place.url):
        for number, group in pages.cache.groups(page.id, place.source.distribution or project, variants=variants):
            if accepts(place, group):
                for link in pages.cache.links(number):
                    yield page.base, group, link
