"""Single values that several files under ``config/`` hold: what may stand there, and what is said of anything else.

Every value is untrusted: whoever may open a pull request may write one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, Final, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_version
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PositiveInt,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from wheelmill.config.document import KeyPath, Unquoted
from wheelmill.names import (
    Architecture,
    Platform,
    ProjectName,
    ProjectVersion,
    Sha256,
    project_name,
    project_version,
)
from wheelmill.wheel.platforms import BUILT_FOR

Item = TypeVar("Item", bound=Hashable)

_EXPRESSION_CHARACTERS: Final = frozenset("`$\\")
_MAX_DIGITS: Final = 5
"""Of numbers of minutes, gigabytes and releases; what is longer is a slip."""


class Entry(BaseModel):
    """Keys and values, none of them unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)


class Form(Entry):
    """All that may stand in one file."""

    def contradictions(self) -> Iterable[tuple[KeyPath, str]]:
        """What no entry can know by itself: where, and what is wrong there."""
        return ()


def plain(text: str) -> str:
    """Refuse what a shell, a workflow expression or a terminal would act on."""
    if acted_on := sorted(_EXPRESSION_CHARACTERS & set(text)):
        raise ValueError(f"expected plain text without {' '.join(acted_on)}")
    if not text.isprintable():
        raise ValueError("expected one line of printable characters")
    return text


def quoted(value: object) -> object:
    """Refuse a number where text is meant."""
    if isinstance(value, Unquoted):
        raise ValueError(f"expected text in quotes: '{value}'")  # noqa: TRY004 - pydantic collects ValueErrors
    return value


def _distinct_versions(versions: list[ProjectVersion]) -> list[ProjectVersion]:
    forms = Counter(canonicalize_version(version) for version in distinct(versions))
    if twins := [version for version in versions if forms[canonicalize_version(version)] > 1]:
        raise ValueError(f"{', '.join(twins)} are one version; keep one of them")
    return versions


def distinct(items: list[Item]) -> list[Item]:
    """Refuse a list that holds something twice."""
    if repeated := sorted(str(item) for item, count in Counter(items).items() if count > 1):
        raise ValueError(f"{', '.join(repeated)} stands in the list more than once")
    return items


def _each_key_once(content: Any, read: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - a mapping, once read
    entries = read(content)
    if len(entries) < len(content):
        raise ValueError(f"two of these keys mean the same: {', '.join(content)}")
    return entries


def _normalized(text: str) -> ProjectName:
    name = project_name(text)
    if name != text:  # two spellings of one name could otherwise stand side by side
        raise ValueError(f"expected the normalized name '{name}' (PEP 503)")
    return name


def index_requirement(text: str) -> str:
    """Bring a requirement into its canonical form.

    Raises:
        ValueError: it is none, or one from a URL.
    """
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise ValueError(f"expected a requirement such as 'ninja>=1.11' (PEP 508), not {text!r}") from None
    if requirement.url:
        raise ValueError(f"expected a requirement from the package index, not from a URL: {text!r}")
    return str(requirement)


def _range_of(value: object) -> SpecifierSet:
    text = quoted(value)
    if not isinstance(text, str):
        raise ValueError(f"expected a range such as '>=2.7,<3', not {value!r}")  # noqa: TRY004
    try:
        versions = SpecifierSet(plain(text))
    except InvalidSpecifier:
        versions = SpecifierSet()
    if not len(versions):  # an empty text is the range of all versions, which nobody means
        raise ValueError(f"expected a range such as '>=2.7,<3' (PEP 440), not {text!r}")
    return versions


def list_of_one(value: object) -> object:
    """Where most packages need one value, one value may stand for a list of one."""
    return [value] if isinstance(value, str | Unquoted) else value


def _whole_number(value: object) -> int:
    digits = value.text if isinstance(value, Unquoted) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS and int(digits)):
        raise ValueError(f"expected a whole number from 1 to {'9' * _MAX_DIGITS}, not {value!r}")
    return int(digits)


def _truth(value: object) -> bool:
    if not (isinstance(value, Unquoted) and value.text in ("true", "false")):
        raise ValueError(f"expected true or false, not {value!r}")
    return value.text == "true"


def _known(platform: Platform) -> Platform:
    if platform not in BUILT_FOR:
        raise ValueError(f"expected {' or '.join(map(str, BUILT_FOR))}, not '{platform}'")
    return platform


def _sha256(text: str) -> Sha256:
    return Sha256(hexadecimal(text, 64))


def hexadecimal(text: str, digits: int) -> str:
    """Refuse anything but so many lower-case hexadecimal digits."""
    if len(text) != digits or set(text) - set("0123456789abcdef"):
        raise ValueError(f"expected {digits} lower-case hexadecimal digits, not {text!r}")
    return text


Text = Annotated[str, BeforeValidator(quoted), AfterValidator(plain)]
Name = Annotated[ProjectName, BeforeValidator(quoted), AfterValidator(plain), AfterValidator(_normalized)]
UpstreamVersion = Annotated[
    ProjectVersion, BeforeValidator(quoted), AfterValidator(plain), AfterValidator(project_version)
]
UpstreamVersions = Annotated[list[UpstreamVersion], Field(min_length=1), AfterValidator(_distinct_versions)]
Range = Annotated[SpecifierSet, PlainValidator(_range_of, json_schema_input_type=str)]
Requirements = Annotated[list[Annotated[Text, AfterValidator(index_requirement)]], AfterValidator(distinct)]
Architectures = Annotated[list[Architecture], Field(min_length=1), AfterValidator(distinct)]
KnownPlatform = Annotated[Platform, AfterValidator(_known)]
Platforms = Annotated[list[KnownPlatform], Field(min_length=1), AfterValidator(distinct)]
WholeNumber = Annotated[int, PlainValidator(_whole_number, json_schema_input_type=PositiveInt)]
Truth = Annotated[bool, PlainValidator(_truth, json_schema_input_type=bool)]
Hash = Annotated[Sha256, AfterValidator(_sha256)]
Hashes = Annotated[list[Hash], Field(min_length=1), AfterValidator(distinct)]
EachKeyOnce = WrapValidator(_each_key_once)
