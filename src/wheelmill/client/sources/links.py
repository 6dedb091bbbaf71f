"""Links to wheels on other people's pages: HTML and JSON indexes, lists of links, GitHub releases.

A page may have tens of thousands, of which one is wanted. So a link stays a row of plain values, and rows that agree
in project, local version and tags are kept together: whether these fit is asked once for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from packaging.utils import canonicalize_name

HTML: Final = ("text/html", "application/vnd.pypi.simple.v1+html")
JSON: Final = "application/vnd.pypi.simple.v1+json"
SUFFIX: Final = ".whl"


class Link(NamedTuple):
    """One file as a page lists it; what the page does not say is None."""

    filename: str
    href: str
    """Absolute, or relative to the page."""
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    metadata: str | None = None
    """The sha256 of its METADATA, or ``true`` (PEP 658)."""
    uploaded_at: str | None = None
    yanked: str | None = None


class Group(NamedTuple):
    """What all its links have in common."""

    project: str
    local: str
    tags: str
    """``cp312-cp312-manylinux_2_28_x86_64``."""


def grouped(links: Iterator[Link]) -> dict[Group, list[Link]]:
    """Sort links by what decides whether they fit; those that are no wheels are left out."""
    groups: dict[tuple[str, str, str], list[Link]] = {}
    for link in links:
        filename = link[0]
        if not filename.endswith(SUFFIX) or "/" in filename:
            continue
        project, _, rest = filename.removesuffix(SUFFIX).partition("-")
        version, _, tags = rest.partition("-")
        if tags.count("-") == 3 and tags[0].isdigit():  # noqa: PLR2004 - a build tag before the others (PEP 427)
            tags = tags.partition("-")[2]
        if tags.count("-") == 2:  # noqa: PLR2004 - Python, ABI and platform
            groups.setdefault((project, version.partition("+")[2], tags), []).append(link)
    renamed: dict[Group, list[Link]] = {}
    for (project, local, tags), members in groups.items():
        key = Group(canonicalize_name(project), local.lower().replace("_", "."), tags)
        renamed.setdefault(key, []).extend(members)
    return renamed


def links_in_html(page: bytes) -> tuple[str | None, Iterator[Link]]:
    """Read an HTML page (PEP 503, 592, 658, 714; upload time and size as uv reads them).

    Returns:
        The page's own base URL, if it names one, and its links to wheels.
    """
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - a page from the cache needs no parser

    tree = LexborHTMLParser(page)
    base = tree.css_first("base[href]")
    return base.attributes["href"] if base else None, _anchors(tree)


def _anchors(tree: Any) -> Iterator[Link]:  # noqa: ANN401 - a LexborHTMLParser
    for anchor in tree.css("a[href]"):
        attributes = anchor.attributes
        href, _, fragment = (attributes["href"] or "").partition("#")
        filename = href.partition("?")[0].rpartition("/")[2]
        if "%" in filename:
            filename = filename.replace("%2B", "+")  # nearly always the only one, and unquote() takes long
            filename = unquote(filename) if "%" in filename else filename
        sha256 = fragment[7:] if fragment.startswith("sha256=") else None
        yield Link(filename, href, sha256, *(_said_by(attributes) if len(attributes) > 1 else ()))


def _said_by(attributes: Mapping[str, str | None]) -> tuple[int | None, str | None, str | None, str | None, str | None]:
    """Size, Requires-Python, METADATA, upload time and yanked."""
    size = attributes.get("data-size") or ""
    metadata = attributes.get("data-core-metadata") or attributes.get("data-dist-info-metadata")
    return (
        int(size) if size.isdecimal() else None,
        attributes.get("data-requires-python"),
        metadata.removeprefix("sha256=") if metadata else None,
        attributes.get("data-upload-time"),
        (attributes["data-yanked"] or "") if "data-yanked" in attributes else None,
    )


def links_in_json(page: Mapping[str, Any]) -> Iterator[Link]:
    """Read the JSON form of a project's page (PEP 691, 700, 714)."""
    for file in page["files"]:
        metadata = file.get("core-metadata", file.get("dist-info-metadata"))
        yanked = file.get("yanked")
        yield Link(
            file["filename"],
            file["url"].partition("#")[0],
            file["hashes"].get("sha256"),
            file.get("size"),
            file.get("requires-python"),
            metadata.get("sha256", "true") if isinstance(metadata, dict) else "true" if metadata else None,
            file.get("upload-time"),
            yanked if isinstance(yanked, str) else "" if yanked else None,
        )


def links_in_releases(page: list[Mapping[str, Any]]) -> Iterator[Link]:
    """Read a page of releases as GitHub's REST API gives them; a sidecar among the assets counts as PEP 658's.

    https://docs.github.com/en/rest/releases/releases#list-releases
    """
    for release in page:
        if release.get("draft"):
            continue
        assets = {asset["name"]: asset for asset in release["assets"]}
        for name, asset in assets.items():
            sidecar = assets.get(f"{name}.metadata")
            yield Link(
                name,
                asset["browser_download_url"],
                _digest(asset),
                asset.get("size"),
                None,
                (_digest(sidecar) or "true") if sidecar else None,
                asset.get("updated_at"),
                None,
            )


def _digest(asset: Mapping[str, Any]) -> str | None:
    """GitHub computes it on upload, since June 2025."""
    algorithm, _, digest = (asset.get("digest") or "").partition(":")
    return digest if algorithm == "sha256" else None


def read_page(body: bytes, content_type: str) -> tuple[str | None, dict[Group, list[Link]]]:
    """Read a page of any of these forms.

    Returns:
        The base URL that it names, if any, and its wheels.

    Raises:
        ValueError: it has none of the forms; says what was expected.
    """
    if content_type in HTML:
        base, links = links_in_html(body)
        return base, grouped(links)
    if content_type not in (JSON, "application/json"):
        raise ValueError(f"expected HTML or {JSON}, not {content_type or 'an answer without Content-Type'}")
    try:
        content = json.loads(body)
        links = links_in_releases(content) if isinstance(content, list) else links_in_json(content)
        return None, grouped(links)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected JSON of PEP 691 or of GitHub's releases: {type(error).__name__}: {error}") from None
