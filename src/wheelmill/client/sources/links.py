"""Links to wheels on other people's pages: HTML and JSON indexes, lists of links, GitHub releases.

A page may have tens of thousands, of which one is wanted. So links that agree in project, local version and tags are
kept together: whether these fit is asked once for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from packaging.utils import canonicalize_name

from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Form, Link, Page
from wheelmill.wheel.limits import MAX_FILENAME

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
        if len(link[0]) > MAX_FILENAME:
            continue
        project, _, rest = link[0].partition("-")
        version, _, tags = rest.partition("-")
        groups.setdefault((project, version.partition("+")[2], tags), []).append(link)
    renamed: dict[LinkGroup, list[Link]] = {}
    for (project, local, rest), members in groups.items():
        tags = rest.removesuffix(SUFFIX)
        if tags.count("-") == 3 and tags[0].isdigit():  # noqa: PLR2004 - a build tag before the others (PEP 427)
            tags = tags.partition("-")[2]
        if rest.endswith(SUFFIX) and tags.count("-") == 2 and "/" not in f"{project}{tags}":  # noqa: PLR2004
            key = LinkGroup(canonicalize_name(project), local.lower().replace("_", "."), tags)
            renamed.setdefault(key, []).extend(members)
    return renamed


def read_page(content: bytes, content_type: str, address: str) -> Page:
    """Read a page of any of these forms.

    Args:
        content: the bytes of the page.
        content_type: as the server gives it, without parameters.
        address: the URL that the page came from, after redirects.

    Raises:
        ValueError: it has none of the forms; says what was expected.
    """
    if content_type in HTML_TYPES:
        from wheelmill.web.html_pages import read_html  # noqa: PLC0415 - a page from the cache needs no parser

        return read_html(content, address)
    if content_type not in (JSON_TYPE, "application/json"):
        raise ValueError(f"expected HTML or {JSON_TYPE}, not {content_type or 'an answer without Content-Type'}")
    try:
        if content.lstrip().startswith(b"["):
            return Page(form=Form.JSON, base=address, links=list(_links_in_releases(json.loads(content))))
        from wheelmill.web.json_pages import read_project_detail  # noqa: PLC0415 - the same

        return read_project_detail(content, address)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected JSON of PEP 691 or of GitHub's releases: {type(error).__name__}: {error}") from None


def _links_in_releases(page: list[Mapping[str, Any]]) -> Iterator[Link]:
    """Read a page of releases as GitHub's REST API gives them; a sidecar among the assets counts as PEP 658's.

    https://docs.github.com/en/rest/releases/releases#list-releases
    """
    for release in page:
        if release.get("draft"):
            continue
        assets = {asset["name"]: asset for asset in release["assets"]}
        for name, asset in assets.items():
            sidecar = assets.get(f"{name}.metadata")
            digest = _sha256_of(sidecar) if sidecar else None
            yield Link(
                name,
                asset["browser_download_url"],
                sha256=_sha256_of(asset),
                size=asset.get("size"),
                core_metadata=f"sha256={digest}" if digest else "true" if sidecar else None,
                upload_time=asset.get("updated_at"),
            )


def _sha256_of(asset: Mapping[str, Any]) -> str | None:
    """GitHub computes it on upload, since June 2025."""
    algorithm, _, digest = (asset.get("digest") or "").partition(":")
    return digest if algorithm == "sha256" else None
