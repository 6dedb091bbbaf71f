"""Names, versions, ranges and requirements, validated once on input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NewType

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

ProjectName = NormalizedName
"""A project's normalized name, such as ``flash-attn`` (PEP 503)."""

ProjectVersion = NewType("ProjectVersion", str)
"""An upstream version in canonical form, such as ``2.8.3`` (PEP 440)."""

CudaTag = NewType("CudaTag", str)
"""A CUDA release as indexes write it, such as ``cu128``."""

ReleaseTag = NewType("ReleaseTag", str)
"""The git tag of a release, such as ``v2026-11-21`` or ``v2026-11-21.2``."""

Sha256 = NewType("Sha256", str)
"""64 lower-case hexadecimal digits."""

_HEXADECIMAL: Final = frozenset("0123456789abcdef")
_SHA256_DIGITS: Final = 64

MAX_TEXT: Final = 4096
"""Characters of a version, a range or a requirement; Python converts no number of more than 4,300 digits."""


def project_name(text: str) -> ProjectName:
    """Normalize a project's name.

    Raises:
        ValueError: the text is not a project name.
    """
    try:
        return canonicalize_name(text, validate=True)
    except InvalidName:
        raise ValueError(f"expected a project name of letters, digits, '-', '_' and '.', not {text!r}") from None


def project_version(text: str) -> ProjectVersion:
    """Bring a version into its canonical form.

    Raises:
        ValueError: the text is not a version.
    """
    try:
        return ProjectVersion(str(Version(bounded(text))))
    except InvalidVersion:
        raise ValueError(f"expected a version such as '2.8.3' (PEP 440), not {text!r}") from None


def is_sha256(text: str) -> bool:
    """Return whether a text is a `Sha256`."""
    return len(text) == _SHA256_DIGITS and _HEXADECIMAL.issuperset(text)


def read_range(text: str) -> SpecifierSet:
    """Read a range of versions, which may be empty.

    Raises:
        ValueError: the text is not a range.
    """
    try:
        return SpecifierSet(bounded(text))
    except InvalidSpecifier:
        raise ValueError(f"expected a range such as '{_range_near(text)}' (PEP 440), not {text!r:.80}") from None


def _range_near(text: str) -> str:
    """Example for an error message: ``==VERSION`` for a lone version, else a general range."""
    try:
        return f"=={Version(text)}"
    except InvalidVersion:
        return ">=2.7,<3"


def read_requirement(text: str) -> Requirement:
    """Read a requirement.

    Raises:
        ValueError: the text is not a requirement, or its marker is nested too deep to be read.
    """
    try:
        return Requirement(bounded(text))
    except InvalidRequirement:
        raise ValueError(f"expected a requirement such as 'ninja>=1.11' (PEP 508), not {text!r:.80}") from None
    except RecursionError:
        raise ValueError(f"expected a requirement that is not nested deeply, not '{text:.40}...'") from None


def bounded(text: str) -> str:
    """Refuse a text that is too long to parse.

    Raises:
        ValueError: it has more than `MAX_TEXT` characters.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"expected at most {MAX_TEXT} characters, not {len(text)}: '{text:.40}...'")
    return text


def words_like(text: str, known: Iterable[str]) -> list[str]:
    """Up to three known words close to a possible misspelling, the nearest first; else those that begin with it."""
    import difflib  # for what is wrong alone

    words = sorted(known)
    return difflib.get_close_matches(text, words) or [word for word in words if text and word.startswith(text)][:3]
