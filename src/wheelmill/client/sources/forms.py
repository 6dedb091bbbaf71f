"""Links to wheels on the pages of other publishers: indexes, lists of links, GitHub releases, files on Hugging Face.

A page may have tens of thousands of links, of which one is wanted. Links with the same project, local version and tags
are one group, so their fit is decided once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from string import digits
from typing import Final, NamedTuple, TypeVar

from packaging.utils import canonicalize_name

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.web.json_pages import read_project_detail, read_releases, read_tree
from wheelmill.web.pages import (
    HTML_TYPES,
    JSON_TYPE,
    MAX_FAULTS,
    Form,
    Link,
    Page,
    cut_html,
    read_html,
    with_sound_links,
)
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX, split_label

_ASKED_FOR: Final = re.compile("[a-z0-9-]+[+][a-z0-9.]*")
"""Project and local version of a group that anything can ask for; no other is judged later."""

Written = TypeVar("Written")


class LinkGroup(NamedTuple):
    """The common properties of a group of links."""

    project: ProjectName
    local: str
    tags: str
    """``cp312-cp312-manylinux_2_28_x86_64``."""
    variant: str = ""
    """The label of variant wheels (PEP 825), or `VARIANTS_SUFFIX` for the lists of them; empty for plain wheels."""


def group_links(links: Iterable[tuple[str, Written]]) -> dict[LinkGroup, list[Written]]:
    """Group links to wheels and lists of variants by the parts of the file name, before each, that decide their fit."""
    groups: defaultdict[tuple[str, str, str], list[Written]] = defaultdict(list)
    for filename, link in links:
        project, _, rest = filename.partition("-")
        version, _, rest = rest.partition("-")
        groups[project, version.partition("+")[2], rest].append(link)
    named: dict[LinkGroup, list[Written]] = {}
    for (project, local, rest), members in groups.items():
        tags, variant = _tags_and_variant(rest)
        is_named = tags.count("-") == 2 or variant == VARIANTS_SUFFIX  # noqa: PLR2004 - three tags
        if is_named and "/" not in f"{project}{tags}":
            group = LinkGroup(canonicalize_name(project), local.lower().replace("_", "."), tags, variant)
            named.setdefault(group, []).extend(members)
    return named


def _tags_and_variant(rest: str) -> tuple[str, str]:
    """Split the text behind a version into tags and the variant of `LinkGroup`; no tags if it has none."""
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


def read_listing(
    content: bytes, content_type: str, address: str
) -> tuple[Page, Mapping[LinkGroup, Sequence[Link] | bytes]]:
    """Read a page in any of these forms, and group its wheels: links in the page's order, of HTML their anchors.

    Wheels that must not be chosen become faults in `read_group`. ``content_type`` has no parameters; ``address`` is the
    URL after redirects.
    """
    groups: Mapping[LinkGroup, Sequence[Link] | bytes]
    if content_type in HTML_TYPES:
        page, anchors = cut_html(content, address)
        groups = {group: "".join(members).encode() for group, members in group_links(anchors).items()}
        if not groups and b"<form" in content.lower():
            raise UnreadableError(
                "page-is-a-form", "expected a list of wheels, not a page with a form and none, such as one to sign in"
            )
    elif content_type in (JSON_TYPE, "application/json"):
        read_list = read_tree if "/api/models/" in address else read_releases
        read = read_list if content.lstrip().startswith(b"[") else read_project_detail
        try:
            page = read(content, address)
        except UnreadableError as error:
            reason = f"expected JSON of PEP 691, or a host's list of files: {error}"
            raise UnreadableError("page-invalid", reason) from None
        groups = group_links((link.filename, link) for link in page.links)
    else:
        raise UnreadableError(
            "page-type-unknown", f"expected HTML or {JSON_TYPE}, not {content_type or 'an answer without Content-Type'}"
        )
    odd = (group for group in groups if not _ASKED_FOR.fullmatch(f"{group.project}+{group.local}"))
    faults = islice((fault for group in odd for fault in read_group(groups[group], page.base).faults), MAX_FAULTS)
    return replace(page, faults=[*page.faults, *faults]), groups


def read_group(links: Sequence[Link] | bytes, base: str) -> Page:
    """Read the wheels of a group; those that must not be chosen are faults."""
    page = read_html(links, base) if isinstance(links, bytes) else Page(form=Form.JSON, base=base, links=links)
    return with_sound_links(page, (WHEEL_SUFFIX, VARIANTS_SUFFIX))
