"""The hashes that pages give of files."""

from __future__ import annotations

import hashlib


def is_hash(name: str, digest: str) -> bool:
    """Whether this is a hash that every installer can compute, in its hexadecimal form."""
    if name not in hashlib.algorithms_guaranteed or name.startswith("shake_"):
        return False
    size = 2 * hashlib.new(name, usedforsecurity=False).digest_size
    return len(digest) == size and set(digest.lower()) <= set("0123456789abcdef")
