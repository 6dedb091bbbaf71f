"""Links to wheels on other people's pages, sorted.

A page may have tens of thousands, of which one is wanted. Links with the same project, local version and tags are one
group, so that their fit is decided once for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from string import digits
from typing import NamedTuple, TypeVar

from packaging.utils import canonicalize_name

from wheelmill.names import ProjectName
from wheelmill.web.pages import Link
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX, split_label

Written = TypeVar("Written")


class LinkGroup(NamedTuple):
    """A group: what all of its links have in common."""

    project: ProjectName
    local: str
    tags: str
    """``cp312-cp312-manylinux_2_28_x86_64``."""
    variant: str = ""
    """The label of variant wheels (PEP 825), or `VARIANTS_SUFFIX` for the lists of them; empty for plain wheels."""


def group_links(links: Iterable[Link]) -> dict[LinkGroup, list[Link]]:
    """Sort links by what decides whether they fit; those that are no wheels, nor lists of variants, are left out."""
    found = list(links)
    return sort_links(found, map(_deciding_parts, found))


def _deciding_parts(link: Link) -> tuple[str, str, str]:
    project, _, rest = link[0].partition("-")
    version, _, tags = rest.partition("-")
    return project, version.partition("+")[2], tags


def sort_links(
    links: Iterable[Written], parts: Iterable[tuple[str, str | None, str]]
) -> dict[LinkGroup, list[Written]]:
    """Sort links by the parts of their file names; those that are no wheels, nor lists of variants, are left out.

    Args:
        links: the links, in any form.
        parts: of each its project, its local version, and what stands behind the version.
    """
    groups: defaultdict[tuple[str, str | None, str], list[Written]] = defaultdict(list)
    for link, key in zip(links, parts, strict=True):
        groups[key].append(link)
    renamed: dict[LinkGroup, list[Written]] = {}
    for (project, local, rest), members in groups.items():
        tags, variant = _tags_and_variant(rest)
        is_named = tags.count("-") == 2 or variant == VARIANTS_SUFFIX  # noqa: PLR2004 - three tags
        if is_named and "/" not in f"{project}{tags}":
            group = LinkGroup(canonicalize_name(project), (local or "").lower().replace("_", "."), tags, variant)
            renamed.setdefault(group, []).extend(members)
    return renamed


def _tags_and_variant(rest: str) -> tuple[str, str]:
    """The tags, and what `LinkGroup` says of variants, by what stands behind the version; no tags where it has none."""
    if rest == VARIANTS_SUFFIX[1:]:
        return "", VARIANTS_SUFFIX
    if not rest.endswith(WHEEL_SUFFIX):
        return "", ""
    label = None
    if rest.count("-") > 2:  # noqa: PLR2004 - more than tags: a build tag before them (PEP 427), a label behind them
        plain, label = split_label(f"_-_-{rest}")
        rest = plain[4:]
    tags = rest.removesuffix(WHEEL_SUFFIX)
    if tags.count("-") == 3 and tags[0] in digits:  # noqa: PLR2004 - the same
        tags = tags.partition("-")[2]
    return tags, label or ""
