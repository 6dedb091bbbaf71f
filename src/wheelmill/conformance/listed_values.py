"""Values that pages state of files: their names, and hashes."""

from __future__ import annotations

import hashlib

from packaging.utils import NormalizedName, parse_sdist_filename
from packaging.version import Version

from wheelmill.wheel.name import VARIANTS_SUFFIX, WheelName, split_label, written_parts


def parse_filename(filename: str) -> tuple[NormalizedName, Version, *tuple[object, ...]] | None:
    """Read the name of a wheel or a source distribution; None if it is neither."""
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)
        name = WheelName.parse(filename)
    except ValueError:  # also Python's own: it converts no number of thousands of digits
        return None
    return name.project, name.version, name.build, name.tags


def name_and_version(filename: str) -> tuple[NormalizedName, Version] | None:
    """Project and version of a wheel, a source distribution or a list of variants; None if it is none of them."""
    if filename.endswith(VARIANTS_SUFFIX):
        filename = f"{filename.removesuffix(VARIANTS_SUFFIX)}-py3-none-any.whl"
    whole = parse_filename(split_label(filename)[0])
    return (whole[0], whole[1]) if whole else None


def written_version(filename: str) -> str:
    """Version as spelled in the name of a wheel, a source distribution or a list of variants."""
    if filename.endswith(".whl"):
        return written_parts(filename)[1]
    return filename.removesuffix(VARIANTS_SUFFIX).removesuffix(".tar.gz").removesuffix(".zip").rpartition("-")[2]


def is_hash(name: str, digest: str) -> bool:
    """True if `digest` is a hexadecimal hash that every installer can compute."""
    if name not in hashlib.algorithms_guaranteed or name.startswith("shake_"):
        return False
    size = 2 * hashlib.new(name, usedforsecurity=False).digest_size
    return len(digest) == size and set(digest.lower()) <= set("0123456789abcdef")
