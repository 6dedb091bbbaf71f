"""Licences of sources, known by their names and phrases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from wheelmill.config.survey.tree import SourcePlace

_PHRASES: Final = (
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0",)),
    ("CC-BY-NC-4.0", ("cc by-nc",)),
    ("LicenseRef-NonCommercial", ("non-commercial",)),
    ("LicenseRef-NonCommercial", ("noncommercial",)),
    ("LicenseRef-Research", ("research and/or evaluation",)),
    ("LicenseRef-Research", ("research or evaluation",)),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("Apache-2.0", ("apache 2.0",)),
    ("BSL-1.0", ("boost software license",)),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "names of its contributors may")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("MIT", ("permission is hereby granted, free of charge, to any person obtaining a copy",)),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",)),
    ("Unlicense", ("free and unencumbered software released into the public domain",)),
    ("MIT", ("license :: osi approved :: mit license",)),
    ("Apache-2.0", ("license :: osi approved :: apache software license",)),
)
"""Phrases of licences beside the GNU ones, the unmistakable ones first."""

_ANY_USE: Final = re.compile(r"commercial(?:ly)? (?:and|or) non-?commercial(?:ly)?")
"""What free licences grant, such as the Unlicense: no limit."""
_GNU: Final = re.compile(
    r"gnu (?P<kind>affero|lesser|library|general|free)(?: general)? (?:public|documentation) license"
    r"\D{0,80}?(?:version |v)(?P<version>\d(?:\.\d)?)"
)
"""First GNU licence that is named with its version: their texts name one another, each its own in its title."""
_GNU_NAMES: Final = {"general": "GPL", "affero": "AGPL", "lesser": "LGPL", "library": "LGPL", "free": "GFDL"}
"""SPDX's names by the first word after ``GNU``."""

_SHORT: Final = {
    "MIT": "MIT",
    "MIT LICENSE": "MIT",
    "APACHE": "Apache-2.0",
    "APACHE LICENSE": "Apache-2.0",
    "APACHE SOFTWARE LICENSE": "Apache-2.0",
    "BSD 3-CLAUSE LICENSE": "BSD-3-Clause",
    "BSD 2-CLAUSE LICENSE": "BSD-2-Clause",
}
_LONGEST_NAME: Final = 100
_LICENCE_FILE: Final = re.compile(r"(^|/)(LICEN|COPYING)", re.IGNORECASE)
_LICENCE: Final = re.compile(r"License ::|(?!.* :: )")
"""Beginning of a field that names a licence: no classifier of another kind."""
_LIMITED: Final = ("CC-BY-NC", "LicenseRef-")


@dataclass(frozen=True, kw_only=True)
class FoundLicence:
    """Licence that a source declares."""

    expression: str
    """SPDX."""
    place: SourcePlace
    text: str


def is_redistributable(expression: str) -> bool:
    """True if a licence (SPDX) lets wheels be given to all users."""
    return not expression.startswith(_LIMITED)


def find_licence(said: Iterable[tuple[SourcePlace, str]]) -> FoundLicence | None:
    """Return the first known licence in texts: licence files, metadata fields, beginnings of files."""
    for place, text in said:
        if expression := _named_licence(text):
            return FoundLicence(expression=expression, place=place, text=text)
    return None


def _named_licence(text: str) -> str | None:
    short = " ".join(text.split())
    if len(short) <= _LONGEST_NAME:
        with suppress(InvalidLicenseExpression):
            return canonicalize_license_expression(_SHORT.get(short.upper(), short))
    lower = _ANY_USE.sub("", short.lower())
    # The MPL names the GNU licences, and those name noncommercial use.
    if "mozilla public license" not in lower and (gnu := _GNU.search(lower)):
        version = gnu["version"] if "." in gnu["version"] else f"{gnu['version']}.0"
        return f"{_GNU_NAMES[gnu['kind']]}-{version}-only"
    return next((name for name, phrases in _PHRASES if all(phrase in lower for phrase in phrases)), None)


def unknown_licence(said: Iterable[tuple[SourcePlace, str]]) -> tuple[SourcePlace | None, str]:
    """Return the first line of a declared licence and its place; empty if there is none."""
    for place, text in said:
        is_file = _LICENCE_FILE.search(place.file)
        if text.strip() not in {"", "UNKNOWN"} and (is_file or (len(text) <= _LONGEST_NAME and _LICENCE.match(text))):
            return place, " ".join(text.strip().split("\n")[0].split())[:_LONGEST_NAME]
    return None, ""
