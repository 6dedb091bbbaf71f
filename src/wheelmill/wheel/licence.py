"""What a wheel says of its licence: an expression in METADATA, and files with the texts (PEP 639)."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.metadata import RawMetadata

LICENCES: Final = "licenses"
"""The folder in ``.dist-info`` that is for them."""
_NAMES: Final = ("licen[cs]e*", "copying*", "notice*", "authors*")
"""In lower case; those that setuptools takes where nobody says otherwise.

https://setuptools.pypa.io/en/latest/userguide/miscellaneous.html
"""
_SHORT: Final = 100
"""Characters of a name. Some METADATA has the whole text."""


def licence_in(metadata: RawMetadata) -> str | None:
    """What METADATA calls the licence: an SPDX expression, or the older field where that is a short name."""
    said = metadata.get("license_expression") or metadata.get("license") or ""
    return said if said and said.isprintable() and len(said) <= _SHORT and said.upper() != "UNKNOWN" else None


def spdx_expression(text: str) -> str | None:
    """A licence as SPDX writes it; None for a text that is no expression."""
    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        return None


def licence_files(members: Iterable[str], dist_info: str) -> tuple[str, ...]:
    """The members of a wheel that hold licences: in their folder, or beside METADATA as older backends put them."""
    own = (name for name in members if name.startswith(f"{dist_info}/") and not name.endswith("/"))
    return tuple(sorted(name for name in own if _is_in_folder(name) or is_licence_file(PurePosixPath(name).name)))


def _is_in_folder(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) > 2 and parts[1] == LICENCES  # noqa: PLR2004 - below both folders


def is_licence_file(filename: str) -> bool:
    """Whether a file, by its name, holds a licence."""
    return any(fnmatchcase(filename.lower(), pattern) for pattern in _NAMES)
