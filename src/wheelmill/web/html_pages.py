"""Reading pages of the simple API in HTML (PEP 503). No bytes are refused, only what they cost.

A parser of HTML makes a page of any bytes, but time and memory grow with the square of a page that was made for it:
attributes of a tag are compared with each other, and what is bold in one paragraph is so in the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from wheelmill.web.pages import MAX_DIGITS, Fault, Form, Link, Page, absolute, last_part, shown

_SMALL: Final = 8 << 10
"""Bytes of a page that is read in this process: at most 0.1 s and 200 MB, whatever is in it."""


def read_html(content: bytes, address: str, *, texts: bool = False) -> Page:
    """Read a project list or a project's page that anybody may have written; a large one in a process apart.

    Args:
        content: the bytes of the page.
        address: the URL that the page came from, after redirects.
        texts: whether the anchors' texts are read too, which takes time and few callers need.

    Raises:
        UnreadableError: it takes more time or memory than any list of wheels.
    """
    if len(content) <= _SMALL:
        return parse_html(content, address, texts=texts)
    from wheelmill.web.pages_apart import read_apart  # noqa: PLC0415 - not for pages that were kept

    return read_apart(partial(parse_html, texts=texts), content, address)


def parse_html(content: bytes, address: str, *, texts: bool = False) -> Page:
    """Read a page in this process, which nothing can interrupt; see `read_html`.

    Raises:
        MemoryError: there is none for its tree; nothing else keeps the parser from making one.
    """
    try:
        tree = LexborHTMLParser(content)
    except SelectolaxError:
        raise MemoryError from None
    links: list[Link] = []
    faults: list[Fault] = []
    metas: dict[str | None, str | None] = {}
    base = None
    for node in tree.css('a[href], base[href], meta[name^="pypi:"]'):  # one walk; of several bases the first counts
        attributes = node.attributes
        if node.tag == "a":
            link = _link(attributes, faults)
            links.append(link._replace(text=node.text(strip=True)) if texts else link)
        elif node.tag == "meta":
            metas.setdefault(attributes["name"], attributes.get("content"))
        elif base is None:
            base = absolute(address, attributes["href"] or "")
            if base is None:
                base = address
                faults.append(Fault(key="base", problem=f"the page's base, {attributes['href']!r:.255}, is no URL"))
    document = tree.root.parent if tree.root else None
    return Page(
        form=Form.HTML,
        base=base or address,
        links=links,
        faults=faults,
        version=metas.get("pypi:repository-version"),
        status=metas.get("pypi:project-status"),
        status_reason=metas.get("pypi:project-status-reason"),
        has_doctype=bool(document and document.child and document.child.tag == "-doctype"),
    )


def _link(attributes: Mapping[str, str | None], faults: list[Fault]) -> Link:
    url, _, fragment = (attributes["href"] or "").partition("#")
    filename = last_part(url)
    sha256 = fragment[7:] if fragment.startswith("sha256=") else None
    if len(attributes) == 1 and sha256:  # most links, and the shortest way for them
        return Link(filename, url, sha256)
    function, equals, digest = fragment.partition("=")
    get = attributes.get
    core, legacy = get("data-core-metadata"), get("data-dist-info-metadata")
    return Link(
        filename,
        url,
        sha256,
        _size(filename, get("data-size"), faults),
        get("data-requires-python"),
        core,
        None if legacy == core else legacy,
        get("data-upload-time"),
        (attributes["data-yanked"] or "") if "data-yanked" in attributes else None,
        {function: digest} if equals and sha256 is None else None,
        get("data-provenance"),
        get("data-gpg-sig"),
    )


def _size(filename: str, text: str | None, faults: list[Fault]) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    faults.append(Fault(key="size", problem=f"{shown(filename)} has the size {text!r:.80}"))
    return None
