"""Variant wheels on the pages of sources, and the lists of what their variants ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.version import Version

from wheelmill.client.records import Candidate
from wheelmill.client.sources.links import LinkGroup
from wheelmill.client.sources.listing import Place, candidate_of, sha256_in, version_of
from wheelmill.client.sources.pages import Pages
from wheelmill.names import ProjectName, Sha256
from wheelmill.web.pages import Link, absolute
from wheelmill.wheel.name import VARIANTS_SUFFIX, VariantLabel


@dataclass(frozen=True, kw_only=True)
class VariantList:
    """Where a list of the variants of a version is."""

    url: str
    """Absolute, without a fragment."""
    sha256: Sha256 | None


@dataclass(frozen=True, kw_only=True)
class VariantWheel:
    """A wheel that is one variant of several, or the plain one beside them."""

    candidate: Candidate
    label: VariantLabel | None
    """None for a plain wheel."""
    listed: VariantList | None = None
    """What says the properties of its variant; None where its page has no such list."""


def variant_wheels(project: ProjectName, places: Sequence[Place], pages: Pages) -> list[VariantWheel]:
    """Every variant wheel of a project; see `candidates_of`."""
    found: dict[str, VariantWheel] = {}
    for place in places:
        for wheel in _at(project, place, pages):
            found.setdefault(wheel.candidate.url, wheel)
    return list(found.values())


def count_variant_wheels(project: ProjectName, places: Sequence[Place], pages: Pages) -> int:
    """How many variant wheels there are of a project, by their names: some sources share pages."""
    links = (each for place in places for each in _links_at(project, place, pages))
    return len({link.filename for _, group, link in links if group.variant != VARIANTS_SUFFIX})


def _at(project: ProjectName, place: Place, pages: Pages) -> Iterator[VariantWheel]:
    """The variant wheels of one place, with the lists that are there, too."""
    lists: dict[Version, VariantList] = {}
    candidates: list[tuple[Candidate, VariantLabel]] = []
    for base, group, link in _links_at(project, place, pages):
        if group.variant == VARIANTS_SUFFIX:
            version = version_of(link.filename.removesuffix(VARIANTS_SUFFIX).partition("-")[2])
            url = absolute(base, link.url)
            if version and url:
                lists.setdefault(version, VariantList(url=url, sha256=sha256_in(link.sha256)))
        elif candidate := candidate_of(link, group, base, place):
            candidates.append((candidate, VariantLabel(group.variant)))
    for candidate, label in candidates:
        yield VariantWheel(candidate=candidate, label=label, listed=lists.get(candidate.version))


def _links_at(project: ProjectName, place: Place, pages: Pages) -> Iterator[tuple[str, LinkGroup, Link]]:
    """The variants at a place: the base of each page, and its groups of links."""
    for page in pages.chain(place.url):
        for number, group in pages.cache.groups(page.id, place.source.distribution or project, variants=True):
            for link in pages.cache.links(number):
                yield page.base, group, link
