"""Building blocks of the models: tables, annotations, and single values shared by several files under ``config/``.

Every value is untrusted: a pull request may hold any text. Reading a file hands the annotations to pydantic. No model
imports pydantic, because the client uses some of these records without it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar, get_args, get_origin

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_version

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
from wheelmill.wheel.platforms import BUILT_FOR, PLATFORMS

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, ValidatorFunctionWrapHandler
    from pydantic_core import CoreSchema


KeyPath = tuple[str | int, ...]
"""Position of a value in a file: its keys, and the numbers of list items."""

Item = TypeVar("Item", bound=Hashable)
Version = TypeVar("Version")
Release = TypeVar("Release")

_TEXT: Final[Any] = {"type": "str"}
"""Schema (pydantic_core) of the text in the file, for the JSON schema that editors use."""


@dataclass(frozen=True)
class Unquoted:
    """Number or truth value as the file writes it: YAML would make 2.1 of 2.10, and True of yes."""

    text: str

    def __repr__(self) -> str:
        """Format as ``2.10``."""
        return self.text


class Entry:
    """Keys and values, none of them unknown. A model is a frozen dataclass that has this base."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "arbitrary_types_allowed": True}


def describe_keys() -> None:
    """Describe the keys in JSON schemas by their docstrings from now on: pydantic parses the source of each model."""
    Entry.__pydantic_config__["use_attribute_docstrings"] = True


class ConfigFile(Entry):
    """Model of a whole file."""

    def contradictions(self) -> Iterable[tuple[KeyPath, str]]:
        """Return the faults that no single entry can detect: the place and the message of each."""
        return ()


class ByVersion(Entry, Mapping[Version, Release]):
    """Facts about releases: a mapping of those by their versions."""

    releases: Mapping[Version, Release]

    def __getitem__(self, version: Version) -> Release:
        """Return the facts about one release."""
        return self.releases[version]

    def __contains__(self, version: object) -> bool:
        """True if a release has facts; planning asks for every cell."""
        return version in self.releases

    def __iter__(self) -> Iterator[Version]:
        """Iterate over the versions in the order of the file."""
        return iter(self.releases)

    def __len__(self) -> int:
        """Return the number of versions."""
        return len(self.releases)


@dataclass(frozen=True, eq=False)
class Read:
    """Field that a function reads from the file's value."""

    function: Callable[[object], object]
    """Reader that gives equal texts equal, immutable values. Its ValueError says what was expected."""
    written: Mapping[str, Any] | None = None
    """Schema (pydantic_core) of the value in the file; text by default."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic call the function."""
        from pydantic_core import core_schema  # the client has these records without pydantic

        written: Any = self.written or _TEXT
        read_text = functools.lru_cache(maxsize=4096)(self.function)  # most texts occur in many entries

        def read(value: object) -> object:
            return read_text(value) if isinstance(value, str) else self.function(value)

        return core_schema.no_info_plain_validator_function(read, json_schema_input_schema=written)


@dataclass(frozen=True, eq=False)
class ReadIn:
    """Field whose function also gets the configuration folder; None if there is no folder."""

    function: Callable[[object, Path | None], object]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic call the function."""
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(
            lambda value, info: self.function(value, info.context), json_schema_input_schema=_TEXT
        )


@dataclass(frozen=True, eq=False)
class After:
    """Field whose value goes through a function after reading."""

    function: Callable[[Any, Mapping[str, Any]], object]
    """Takes the value, and the keys before it that have no fault."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic call the function."""
        from pydantic_core import core_schema

        return core_schema.with_info_after_validator_function(
            lambda value, info: self.function(value, info.data), handler(source)
        )


@dataclass(frozen=True, eq=False)
class Items:
    """List without repetitions, kept as the field's tuple or set."""

    at_least: int = 0
    or_one: bool = False
    """True if one text may stand for a list of one."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read the items."""
        from pydantic_core import core_schema

        kind: Any = get_origin(source)  # tuple or frozenset

        listed = core_schema.list_schema(handler.generate_schema(get_args(source)[0]), min_length=self.at_least or None)
        read: CoreSchema = listed
        if self.or_one:
            written: Any = {"type": "union", "choices": [_TEXT, listed]}
            read = core_schema.no_info_before_validator_function(
                lambda value: [value] if isinstance(value, str | Unquoted) else value,
                listed,
                json_schema_input_schema=written,
            )
        written_as = core_schema.plain_serializer_function_ser_schema(list)  # in provenance
        return core_schema.no_info_after_validator_function(
            lambda items: kind(distinct(items)), read, serialization=written_as
        )


@dataclass(frozen=True, eq=False)
class Either:
    """Field read in one way if the file's value has a certain type, else in another."""

    type: type
    then: object
    otherwise: object

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic choose, so that faults match the intended type."""
        from pydantic_core import core_schema

        return core_schema.tagged_union_schema(
            {"[then]": handler.generate_schema(self.then), "[otherwise]": handler.generate_schema(self.otherwise)},
            discriminator=lambda value: "[then]" if isinstance(value, self.type) else "[otherwise]",
        )


class EachKeyOnce:
    """Mapping in which no two keys mean the same."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read the mapping, and compare its keys."""
        from pydantic_core import core_schema

        def read(content: Any, mapping: ValidatorFunctionWrapHandler) -> object:  # noqa: ANN401 - once read, a mapping
            entries = mapping(content)
            if len(entries) < len(content):
                raise ValueError(f"two of these keys mean the same: {', '.join(content)}")
            return entries

        return core_schema.no_info_wrap_validator_function(read, handler(source))


def shown(value: object) -> str:
    """Return a value as a fault names it."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "keys and values"
        case list():
            return "a list"
        case _:
            return repr(value)


def distinct(items: list[Item]) -> list[Item]:
    """Refuse a list with a repeated item."""
    if len(set(items)) < len(items):
        repeated = sorted(str(item) for item, count in Counter(items).items() if count > 1)
        raise ValueError(f"{', '.join(repeated)} is in the list more than once")
    return items


_EXPRESSION_CHARACTERS: Final = frozenset("`$\\")
_MAX_DIGITS: Final = 5
"""Digits of a number of minutes, gigabytes or releases; a longer one is a slip."""


def text_of(value: object) -> str:
    """Refuse a value that is no text, or has characters with a meaning in a shell, workflow expression or terminal."""
    if isinstance(value, Unquoted):
        raise ValueError(f"expected text in quotes: '{value}'")  # noqa: TRY004 - pydantic collects ValueErrors
    if not isinstance(value, str):
        raise ValueError(f"expected text, not {shown(value)}")  # noqa: TRY004 - the same
    if not _EXPRESSION_CHARACTERS.isdisjoint(value):
        raise ValueError(f"expected plain text without {' '.join(sorted(_EXPRESSION_CHARACTERS & set(value)))}")
    if not value.isprintable():
        raise ValueError("expected one line of printable characters")
    return value


def filled_with(text: str, placeholders: Iterable[str]) -> str:
    """Return a URL, or refuse one with other braces than those of these placeholders."""
    known = [f"{{{name}}}" for name in placeholders]
    filled = functools.reduce(lambda url, placeholder: url.replace(placeholder, "0"), known, text)
    if "{" in filled or "}" in filled:
        raise ValueError(f"expected {', '.join(known)} in a URL, not {text!r}: nothing fills its other braces")
    return text


def from_text(read: Callable[[str], object], written: Mapping[str, Any] | None = None) -> Read:
    """Return a field that a function reads from text; `written` is as in `Read`."""
    return Read(lambda value: read(text_of(value)), written)


def text_that(is_right: Callable[[str], object], expected: str) -> Read:
    """Return a text field that must pass a test; `expected` is the message for other text."""

    def read(text: str) -> str:
        if not is_right(text):
            raise ValueError(f"expected {expected}, not {text!r}")
        return text

    return from_text(read)


def _distinct_versions(versions: tuple[ProjectVersion, ...], _above: object) -> tuple[ProjectVersion, ...]:
    forms = Counter(map(canonicalize_version, versions))
    if twins := [version for version in versions if forms[canonicalize_version(version)] > 1]:
        raise ValueError(f"{', '.join(twins)} are one version; keep one of them")
    return versions


def _name(text: str) -> ProjectName:
    name = project_name(text)
    if name != text:  # otherwise one project could have two entries
        raise ValueError(f"expected the normalized name '{name}' (PEP 503)")
    return name


def index_requirement(text: str) -> str:
    """Return the canonical form of a requirement."""
    parsed = read_requirement(text)
    if parsed.url:
        raise ValueError(f"expected a requirement from the package index, not from a URL: {text!r}")
    return str(parsed)


def _range(value: object) -> SpecifierSet:
    if not isinstance(value, str | Unquoted):
        raise ValueError(f"expected a range such as '>=2.7,<3', not {value!r}")  # noqa: TRY004
    text = text_of(value)
    versions = read_range(text)
    if not len(versions):  # an empty text means all versions, surely by mistake
        raise ValueError(f"expected a range such as '>=2.7,<3' (PEP 440), not {text!r}")
    return versions


def whole_number(value: object) -> int:
    """Read a number of at least 1."""
    digits = value.text if isinstance(value, Unquoted) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS and int(digits)):
        raise ValueError(f"expected a whole number from 1 to {'9' * _MAX_DIGITS}, not {value!r}")
    return int(digits)


def _truth(value: object) -> bool:
    if not (isinstance(value, Unquoted) and value.text in ("true", "false")):
        raise ValueError(f"expected true or false, not {value!r}")
    return value.text == "true"


def _platform(text: str, known: Collection[Platform] = BUILT_FOR) -> Platform:
    platform = Platform.parse(text)
    if platform not in known:
        raise ValueError(f"expected {' or '.join(map(str, known))}, not '{platform}'")
    return platform


def is_commit(text: str) -> bool:
    """Return True for the full SHA-1 of a commit."""
    return re.fullmatch("[0-9a-f]{40}", text) is not None


def hexadecimal(digits: int) -> Read:
    """Return a field of `digits` lower-case hexadecimal digits."""
    return text_that(re.compile(f"[0-9a-f]{{{digits}}}").fullmatch, f"{digits} lower-case hexadecimal digits")


NUMBER: Final[Mapping[str, Any]] = {"type": "int", "gt": 0}

Text = Annotated[str, Read(text_of)]
Name = Annotated[ProjectName, from_text(_name)]
VersionText = Annotated[str, from_text(project_version)]
UpstreamVersion = Annotated[ProjectVersion, from_text(project_version)]
UpstreamVersions = Annotated[tuple[UpstreamVersion, ...], Items(at_least=1), After(_distinct_versions)]
Range = Annotated[SpecifierSet, Read(_range)]
Requirements = Annotated[tuple[Annotated[str, from_text(index_requirement)], ...], Items()]
Architectures = Annotated[tuple[Architecture, ...], Items(at_least=1)]
KnownPlatform = Annotated[Platform, from_text(_platform)]
Platforms = Annotated[tuple[KnownPlatform, ...], Items(at_least=1)]
WheelPlatforms = Annotated[
    tuple[Annotated[Platform, from_text(functools.partial(_platform, known=PLATFORMS))], ...], Items(at_least=1)
]
WholeNumber = Annotated[int, Read(whole_number, NUMBER)]
Truth = Annotated[bool, Read(_truth, {"type": "bool"})]
Hash = Annotated[Sha256, hexadecimal(64)]
Hashes = Annotated[tuple[Hash, ...], Items(at_least=1)]
