"""What the values on a page are: names of files, hashes, URLs."""

from __future__ import annotations

import hashlib
import string
from typing import Final

from packaging.utils import NormalizedName, parse_sdist_filename
from packaging.version import Version

from wheelmill.wheel.name import WheelName

VARIANTS_SUFFIX: Final = "-variants.json"
"""Of what lists the variant wheels of a version (PEP 825)."""
_IN_LABEL: Final = frozenset(string.digits + string.ascii_lowercase + "_.")
_LONGEST_LABEL: Final = 16


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
    """The project and the version of a wheel, a source distribution or a list of variants; None for what is neither."""
    if filename.endswith(VARIANTS_SUFFIX):
        filename = f"{filename.removesuffix(VARIANTS_SUFFIX)}-py3-none-any.whl"
    whole = parse_filename(filename) or parse_filename(without_variant(filename))
    return (whole[0], whole[1]) if whole else None


def without_variant(filename: str) -> str:
    """The name of a variant wheel without its label (PEP 825); empty for what is none."""
    stem, _, label = filename.removesuffix(".whl").rpartition("-")
    plain = f"{stem}.whl"
    is_label = 0 < len(label) <= _LONGEST_LABEL and _IN_LABEL.issuperset(label)
    is_variant = is_label and filename.endswith(".whl") and parse_filename(filename) is None
    return plain if is_variant and parse_filename(plain) else ""


def written_version(filename: str) -> str:
    """The version as the name of a wheel, a source distribution or a list of variants spells it."""
    if filename.endswith(".whl"):
        return filename.split("-")[1]
    return filename.removesuffix(VARIANTS_SUFFIX).removesuffix(".tar.gz").removesuffix(".zip").rpartition("-")[2]


def is_hash(name: str, digest: str) -> bool:
    """Whether this is a hash that every installer can compute, in its hexadecimal form."""
    if name not in hashlib.algorithms_guaranteed or name.startswith("shake_"):
        return False
    size = 2 * hashlib.new(name, usedforsecurity=False).digest_size
    return len(digest) == size and set(digest.lower()) <= set("0123456789abcdef")
