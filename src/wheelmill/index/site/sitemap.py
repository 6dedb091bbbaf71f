"""The list of a site's pages for those who search the web (https://www.sitemaps.org/protocol.html)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final
from urllib.parse import quote

from wheelmill.index.render import Page

SITEMAP: Final = "sitemap.xml"
_MOST: Final = 50_000
"""Pages that one list may have; those that come first are the ones that people look for."""


def with_sitemap(pages: Iterable[Page], site_url: str) -> Iterator[Page]:
    """Pass pages for people on, and list them at the end.

    Args:
        pages: all of them.
        site_url: where the site is, with a slash at its end; a list has no relative addresses.
    """
    addresses: list[str] = []
    for path, content in pages:
        if path.rpartition("/")[2] == "index.html" and len(addresses) < _MOST:
            addresses.append(site_url + quote(path.removesuffix("index.html")))
        yield path, content
    rows = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    yield SITEMAP, [f"{head}{rows}</urlset>\n".encode()]
