"""Reading a page of any form: HTML and JSON indexes, lists of links, GitHub releases, files on Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wheelmill.client.sources.links import LinkGroup, group_links
from wheelmill.client.sources.plain_html import sort_plain_links
from wheelmill.client.sources.plain_releases import sort_plain_releases
from wheelmill.errors import UnreadableError
from wheelmill.web.json_pages import read_project_detail, read_releases, read_tree
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Fault, Form, Link, Page, read_apart, read_html, with_sound_links
from wheelmill.wheel.name import VARIANTS_SUFFIX, WHEEL_SUFFIX

_SMALL: Final = 2 << 20
"""Bytes of a page in JSON that takes 2 s and 300 MB at most: that many if each entry is wrong."""


@dataclass(frozen=True, kw_only=True)
class WheelListing:
    """The wheels on a page."""

    base: str
    """The URL that links are relative to."""
    groups: Mapping[LinkGroup, Sequence[Link] | bytes]
    """The links of each group, in the page's order; of a plain page as they stand there."""
    faults: Sequence[Fault] = ()


def read_listing(content: bytes, content_type: str, address: str) -> WheelListing:
    """Read and sort the wheels of a page; see `read_page`."""
    if content_type in HTML_TYPES:
        plain = sort_plain_links(content, address)
    else:
        plain = sort_plain_releases(content, address) if content.startswith(b"[") else None
    if plain:
        return WheelListing(base=address, groups=plain)
    page = read_page(content, content_type, address)
    return WheelListing(base=page.base, groups=group_links(page.links), faults=page.faults)


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
        page = read_html(content, address, texts=True)
    elif content_type in (JSON_TYPE, "application/json"):
        read_list = read_tree if "/api/models/" in address else read_releases
        try:
            read = read_list if content.lstrip().startswith(b"[") else read_project_detail
            page = read(content, address) if len(content) <= _SMALL else read_apart(read, content, address)
        except UnreadableError as error:
            raise UnreadableError(
                "page-invalid", f"expected JSON of PEP 691, or a host's list of files: {error}"
            ) from None
    else:
        raise UnreadableError(
            "page-type-unknown", f"expected HTML or {JSON_TYPE}, not {content_type or 'an answer without Content-Type'}"
        )
    sound = with_sound_links(page, (WHEEL_SUFFIX, VARIANTS_SUFFIX))
    if page.form is Form.HTML and not sound.links and b"<form" in content.lower():
        raise UnreadableError(
            "page-is-a-form", "expected a list of wheels, not a page with a form and none, such as one to sign in"
        )
    return sound
