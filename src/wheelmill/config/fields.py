"""Single values that several files under ``config/`` hold: what may stand there, and the message for anything else.

Every value is untrusted: whoever may open a pull request may write one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_version

from wheelmill.config.annotations import After, Items, Read, Unquoted, shown
from wheelmill.names import (
    Architecture,
    Platform,
    ProjectName,
    ProjectVersion,
    Sha256,
    project_name,
    project_version,
    read_range,
    read_requirement,
)
from wheelmill.wheel.platforms import BUILT_FOR

_EXPRESSION_CHARACTERS: Final = frozenset("`$\\")
_MAX_DIGITS: Final = 5
"""Digits of a number of minutes, gigabytes or releases; a longer one is a slip."""


def text_of(value: object) -> str:
    """Refuse what is not text, and characters that a shell, a workflow expression or a terminal would act on."""
    if isinstance(value, Unquoted):
        raise ValueError(f"expected text in quotes: '{value}'")  # noqa: TRY004 - pydantic collects ValueErrors
    if not isinstance(value, str):
        raise ValueError(f"expected text, not {shown(value)}")  # noqa: TRY004 - the same
    if not _EXPRESSION_CHARACTERS.isdisjoint(value):
        raise ValueError(f"expected plain text without {' '.join(sorted(_EXPRESSION_CHARACTERS & set(value)))}")
    if not value.isprintable():
        raise ValueError("expected one line of printable characters")
    return value


def text_that(is_right: Callable[[str], object], expected: str) -> Read:
    """A field of text that passes a test; `expected` is the message for any other."""

    def read(value: object) -> str:
        text = text_of(value)
        if not is_right(text):
            raise ValueError(f"expected {expected}, not {text!r}")
        return text

    return Read(read)


def _distinct_versions(versions: tuple[ProjectVersion, ...], _above: object) -> tuple[ProjectVersion, ...]:
    forms = Counter(map(canonicalize_version, versions))
    if twins := [version for version in versions if forms[canonicalize_version(version)] > 1]:
        raise ValueError(f"{', '.join(twins)} are one version; keep one of them")
    return versions


def _name(value: object) -> ProjectName:
    text = text_of(value)
    name = project_name(text)
    if name != text:  # two spellings of one name could otherwise stand side by side
        raise ValueError(f"expected the normalized name '{name}' (PEP 503)")
    return name


def index_requirement(text: str) -> str:
    """Bring a requirement into its canonical form.

    Raises:
        ValueError: it is none, or one from a URL.
    """
    parsed = read_requirement(text)
    if parsed.url:
        raise ValueError(f"expected a requirement from the package index, not from a URL: {text!r}")
    return str(parsed)


def _range(value: object) -> SpecifierSet:
    if not isinstance(value, str | Unquoted):
        raise ValueError(f"expected a range such as '>=2.7,<3', not {value!r}")  # noqa: TRY004
    text = text_of(value)
    versions = read_range(text)
    if not len(versions):  # an empty text is the range of all versions, which nobody means
        raise ValueError(f"expected a range such as '>=2.7,<3' (PEP 440), not {text!r}")
    return versions


def whole_number(value: object) -> int:
    """Read a number from 1 up."""
    digits = value.text if isinstance(value, Unquoted) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS and int(digits)):
        raise ValueError(f"expected a whole number from 1 to {'9' * _MAX_DIGITS}, not {value!r}")
    return int(digits)


def _truth(value: object) -> bool:
    if not (isinstance(value, Unquoted) and value.text in ("true", "false")):
        raise ValueError(f"expected true or false, not {value!r}")
    return value.text == "true"


def _platform(value: object) -> Platform:
    platform = Platform.parse(text_of(value))
    if platform not in BUILT_FOR:
        raise ValueError(f"expected {' or '.join(map(str, BUILT_FOR))}, not '{platform}'")
    return platform


def hexadecimal(digits: int) -> Read:
    """A field of so many lower-case hexadecimal digits."""
    return text_that(re.compile(f"[0-9a-f]{{{digits}}}").fullmatch, f"{digits} lower-case hexadecimal digits")


NUMBER: Final[Mapping[str, Any]] = {"type": "int", "gt": 0}

Text = Annotated[str, Read(text_of)]
Name = Annotated[ProjectName, Read(_name)]
VersionText = Annotated[str, Read(lambda value: project_version(text_of(value)))]
UpstreamVersion = Annotated[ProjectVersion, Read(lambda value: project_version(text_of(value)))]
UpstreamVersions = Annotated[tuple[UpstreamVersion, ...], Items(at_least=1), After(_distinct_versions)]
Range = Annotated[SpecifierSet, Read(_range)]
Requirements = Annotated[tuple[Annotated[str, Read(lambda value: index_requirement(text_of(value)))], ...], Items()]
Architectures = Annotated[tuple[Architecture, ...], Items(at_least=1)]
KnownPlatform = Annotated[Platform, Read(_platform)]
Platforms = Annotated[tuple[KnownPlatform, ...], Items(at_least=1)]
WholeNumber = Annotated[int, Read(whole_number, NUMBER)]
Truth = Annotated[bool, Read(_truth, {"type": "bool"})]
Hash = Annotated[Sha256, hexadecimal(64)]
Hashes = Annotated[tuple[Hash, ...], Items(at_least=1)]
