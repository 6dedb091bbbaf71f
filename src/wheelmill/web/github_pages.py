"""Pages of GitHub's list of releases, which get smaller where the server has no time for large ones.

A release of hundreds of assets makes a page of many megabytes, and GitHub answers 502 or 504 where it takes too long.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#timeouts
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

SIZES: Final = (30, 10, 5, 1)
"""Releases of a page; each divides the one before, so that a smaller page begins where the larger would."""
LARGEST: Final = SIZES[0]


def smaller_page(url: str) -> str | None:
    """The URL of a page with fewer releases that begins with the same one; None when a page cannot be smaller."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    size, number = (asked.get(name, ["1"])[0] for name in ("per_page", "page"))
    smaller = next((after for before, after in pairwise(SIZES) if str(before) == size), None)
    if smaller is None or not number.isdecimal():
        return None
    first = (int(number) - 1) * int(size)
    return parts._replace(query=urlencode({"per_page": smaller, "page": first // smaller + 1})).geturl()
