"""Pages of GitHub's list of releases, which get smaller where the server has no time for large ones.

A release of hundreds of assets makes a page of many megabytes, and GitHub answers 502 or 504 where it takes too long.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#timeouts
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from wheelmill.errors import NetworkError

SIZES: Final = (30, 10, 5, 1)
"""Releases of a page; each divides the one before, so that a smaller page begins where the larger would."""
LARGEST: Final = SIZES[0]


def smaller_page(url: str, failure: NetworkError) -> str | None:
    """The URL of a page with fewer releases that begins with the same one.

    Args:
        url: the page that was asked for.
        failure: what came instead.

    Returns:
        None when that page cannot be smaller, or the failure is another one.
    """
    if (failure.status or 0) < HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    size, number = (asked.get(name, ["1"])[0] for name in ("per_page", "page"))
    smaller = next((after for before, after in pairwise(SIZES) if str(before) == size), None)
    if smaller is None or not number.isdecimal():
        return None
    first = (int(number) - 1) * int(size)
    return parts._replace(query=urlencode({"per_page": smaller, "page": first // smaller + 1})).geturl()
