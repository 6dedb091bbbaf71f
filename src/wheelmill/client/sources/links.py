"""Links to wheels on other people's pages: HTML and JSON indexes, lists of links, GitHub releases.

A page may have tens of thousands, of which one is wanted. So links that agree in project, local version and tags are
kept together: whether these fit is asked once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import digits
from typing import Final, NamedTuple

from packaging.utils import canonicalize_name

from wheelmill.errors import UnreadableError
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Link, Page, with_sound_links

SUFFIX: Final = ".whl"


class LinkGroup(NamedTuple):
    """What all links of a group have in common."""

    project: str
    local: str
    tags: str
    """``cp312-cp312-manylinux_2_28_x86_64``."""


def group_links(links: Iterable[Link]) -> dict[LinkGroup, list[Link]]:
    """Sort links by what decides whether they fit; those that are no wheels are left out."""
    groups: dict[tuple[str, str, str], list[Link]] = {}
    for link in links:
        project, _, rest = link[0].partition("-")
        version, _, tags = rest.partition("-")
        groups.setdefault((project, version.partition("+")[2], tags), []).append(link)
    renamed: dict[LinkGroup, list[Link]] = {}
    for (project, local, rest), members in groups.items():
        tags = rest.removesuffix(SUFFIX)
        if tags.count("-") == 3 and tags[0] in digits:  # noqa: PLR2004 - a build tag before the others (PEP 427)
            tags = tags.partition("-")[2]
        if rest.endswith(SUFFIX) and tags.count("-") == 2 and "/" not in f"{project}{tags}":  # noqa: PLR2004
            key = LinkGroup(canonicalize_name(project), local.lower().replace("_", "."), tags)
            renamed.setdefault(key, []).extend(members)
    return renamed


def read_page(content: bytes, content_type: str, address: str) -> Page:
    """Read a page of any of these forms; wheels that nobody should choose are faults of it.

    Args:
        content: the bytes of the page.
        content_type: as the server gives it, without parameters.
        address: the URL that the page came from, after redirects.

    Raises:
        UnreadableError: it has none of the forms; says what was expected.
    """
    if content_type in HTML_TYPES:
        from wheelmill.web.html_pages import read_html  # noqa: PLC0415 - a page from the cache needs no parser

        page = read_html(content, address)
    elif content_type in (JSON_TYPE, "application/json"):
        from wheelmill.web.json_pages import read_project_detail, read_releases  # noqa: PLC0415 - the same

        try:
            page = (read_releases if content.lstrip().startswith(b"[") else read_project_detail)(content, address)
        except UnreadableError as error:
            raise UnreadableError(f"expected JSON of PEP 691 or of GitHub's releases: {error}") from None
    else:
        raise UnreadableError(f"expected HTML or {JSON_TYPE}, not {content_type or 'an answer without Content-Type'}")
    return with_sound_links(page, (SUFFIX,))
