"""Feeds of news (Atom: https://www.rfc-editor.org/rfc/rfc4287)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from wheelmill.index.rows import in_utc
from wheelmill.index.site.news import News

FEED: Final = "feed.xml"
_NEVER: Final = "1970-01-01T00:00:00Z"
"""A feed must say when it changed, also one of a site that has nothing yet."""


def feed_of(news: Sequence[News], *, title: str, page: str, root: str, site_url: str | None) -> bytes:
    """Write a feed: the same news give the same bytes.

    Args:
        news: what it tells, the newest first.
        title: what readers call it.
        page: the folder of the page that it belongs to, below the root of the site.
        root: the way from the feed to the root of the site.
        site_url: where the site is; without it, links are relative to the feed.
    """
    above = site_url or root
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    _text(feed, "id", _identity(news, page))
    _text(feed, "title", title)
    _text(feed, "updated", in_utc(news[0].published) if news else _NEVER)
    _text(SubElement(feed, "author"), "name", "wheelmill")
    SubElement(feed, "link", rel="alternate", type="text/html", href=above + page)
    if site_url:
        SubElement(feed, "link", rel="self", type="application/atom+xml", href=f"{site_url}{page}{FEED}")
    for each in news:
        entry = SubElement(feed, "entry")
        _text(entry, "id", _identity([each], f"{each.project}/{each.version}/{in_utc(each.published)}"))
        _text(entry, "title", each.title)
        _text(entry, "updated", in_utc(each.published))
        SubElement(entry, "link", rel="alternate", type="text/html", href=above + each.page)
        _text(entry, "summary", each.summary)
    indent(feed)
    written: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _identity(news: Sequence[News], name: str) -> str:
    """The permanent ID of a feed or an entry: its name and the place of the releases, as the site may move."""
    store = posixpath.dirname(posixpath.dirname(news[0].url)) if news else ""
    return uuid5(NAMESPACE_URL, f"{store}/{name}").urn


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = text
