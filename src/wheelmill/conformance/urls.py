"""URLs that strangers wrote."""

from __future__ import annotations

import posixpath
from ipaddress import ip_address
from urllib.parse import unquote, urldefrag, urljoin, urlsplit


def absolute(base: str, href: str) -> tuple[str, str]:
    """An absolute URL and its fragment; a link that is no URL stays what it is."""
    try:
        url, fragment = urldefrag(urljoin(base, href))
    except ValueError:
        return href, ""
    return url, fragment


def last_part(url: str) -> str:
    """The last part of a URL's path, decoded."""
    try:
        return unquote(posixpath.basename(urlsplit(url).path))
    except ValueError:
        return ""


def is_secure(url: str) -> bool:
    """Whether nobody on the way can change what comes from there: https, or this machine.

    https://www.w3.org/TR/secure-contexts/#is-origin-trustworthy
    """
    try:
        address = urlsplit(url)
        host = address.hostname or ""
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, not an address
        loopback = False
    return url.startswith("https://") or (url.startswith("http://") and loopback)
