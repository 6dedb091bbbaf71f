"""What the values on a page are: names of files, hashes, URLs."""

from __future__ import annotations

import hashlib
from ipaddress import ip_address
from urllib.parse import urlsplit

from packaging.utils import NormalizedName, parse_sdist_filename
from packaging.version import Version

from wheelmill.wheel.name import WheelName


def parse_filename(filename: str) -> tuple[NormalizedName, Version, *tuple[object, ...]] | None:
    """Read the name of a wheel or a source distribution; None when it is neither."""
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)
        name = WheelName.parse(filename)
    except ValueError:  # not only packaging's own: Python makes no number of thousands of digits
        return None
    return name.project, name.version, name.build, name.tags


def name_and_version(filename: str) -> tuple[NormalizedName, Version] | None:
    """The project and the version of a wheel or a source distribution; None for what is neither."""
    return (whole[0], whole[1]) if (whole := parse_filename(filename)) else None


def is_hash(name: str, digest: str) -> bool:
    """Whether this is a hash that every installer can compute, in its hexadecimal form."""
    if name not in hashlib.algorithms_guaranteed or name.startswith("shake_"):
        return False
    size = 2 * hashlib.new(name, usedforsecurity=False).digest_size
    return len(digest) == size and set(digest.lower()) <= set("0123456789abcdef")


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
