"""Single values in the files under ``config/``: what may stand there, and what is said of anything else.

Every value is untrusted: whoever may open a pull request may write one.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, TypeVar

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidName,
    InvalidSdistFilename,
    canonicalize_name,
    canonicalize_version,
    parse_sdist_filename,
)
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    PositiveInt,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from wheelmill.config.document import Unquoted
from wheelmill.config.records import BuildArguments
from wheelmill.names import (
    Architecture,
    Platform,
    ProjectName,
    ProjectVersion,
    Sha256,
    project_name,
    project_version,
)

PLATFORMS: Final = (Platform("linux_x86_64"), Platform("linux_aarch64"))

Item = TypeVar("Item")

_GIT_URL: Final = re.compile(r"(https://[A-Za-z0-9.-]+(:[0-9]+)?|file://)(/[A-Za-z0-9._~+-]+)+/?")
_GIT_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+!-]*")
_EXPRESSION_CHARACTERS: Final = frozenset("`$\\")
_ENV_REFUSED: Final = ("BASH_ENV", "HOME", "PATH")
_ENV_PREFIXES_REFUSED: Final = (
    "LD_",
    "GITHUB_",
    "ACTIONS_",
    "RUNNER_",
    "PYTHON",
    "PIP_",
    "UV_",
    "WHEELMILL_",
)


def _plain(text: str) -> str:
    """Refuse what a shell, a workflow expression or a terminal would act on."""
    if acted_on := sorted(_EXPRESSION_CHARACTERS & set(text)):
        raise ValueError(f"expected plain text without {' '.join(acted_on)}")
    if not text.isprintable():
        raise ValueError("expected one line of printable characters")
    return text


def _quoted(value: object) -> object:
    if isinstance(value, Unquoted):
        raise ValueError(f"expected text in quotes: '{value}'")  # noqa: TRY004 - pydantic collects ValueErrors
    return value


def _distinct_versions(versions: list[ProjectVersion]) -> list[ProjectVersion]:
    canonical = [canonicalize_version(version) for version in _distinct(versions)]
    if twins := [version for version, form in zip(versions, canonical, strict=True) if canonical.count(form) > 1]:
        raise ValueError(f"{', '.join(twins)} are one version; keep one of them")
    return versions


def _distinct(items: list[Item]) -> list[Item]:
    if repeated := sorted({str(item) for item in items if items.count(item) > 1}):
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


def _pin(text: str) -> str:
    requirement = Requirement(index_requirement(text))
    pinned = [specifier.operator for specifier in requirement.specifier] == ["=="] and "*" not in text.partition(";")[0]
    if not pinned or requirement.extras:
        raise ValueError(f"expected a pinned requirement such as 'ninja==1.13.2', not {text!r}")
    return str(requirement)


def _build_arguments(value: object) -> BuildArguments:
    if isinstance(value, BuildArguments):
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected text such as '--no-build-isolation', not {value!r}")  # noqa: TRY004
    text = _plain(value)
    isolation = True
    settings = []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"quotes do not match: {error}") from None
    for word in words:
        option, _, value = word.partition("=")
        key, is_setting, setting = value.partition("=")
        if word == "--no-build-isolation":
            isolation = False
        elif option in ("--config-settings", "--config-setting") and key and is_setting:
            settings.append((key, setting))
        else:
            raise ValueError(f"expected --no-build-isolation or --config-settings=KEY=VALUE, not {word!r}")
    return BuildArguments(isolation=isolation, config_settings=tuple(settings))


def _module(text: str) -> str:
    if not all(part.isidentifier() for part in text.split(".")):
        raise ValueError(f"expected a module such as 'flash_attn', not {text!r}")
    return text


def _variable(text: str) -> str:
    if not (text.isidentifier() and text.isascii()):
        raise ValueError(f"expected the name of an environment variable, not {text!r}")
    if text.upper() in _ENV_REFUSED or text.upper().startswith(_ENV_PREFIXES_REFUSED):
        raise ValueError(f"{text} belongs to the machine that builds and may not be set here")
    return text


def _inside(value: object) -> PurePosixPath:
    if not isinstance(value, str):
        raise ValueError(f"expected a path, not {value!r}")  # noqa: TRY004
    text = _plain(value)
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"expected a path inside the configuration folder, not {text!r}")
    return path


def _folder(value: object, info: ValidationInfo) -> PurePosixPath:
    path = _inside(value)
    if info.context and not (info.context / path).is_dir():
        raise ValueError(f"there is no folder '{path}' in the configuration folder")
    return path


def _file(value: object, info: ValidationInfo) -> PurePosixPath:
    path = _inside(value)
    if info.context and not (info.context / path).is_file():
        raise ValueError(f"there is no file '{path}' in the configuration folder")
    return path


def _git_url(text: str) -> str:
    if not _GIT_URL.fullmatch(text):
        raise ValueError(f"expected the https:// or file:// address of a git repository, without a user, not {text!r}")
    return text


def _git_ref(text: str) -> str:
    if not _GIT_REF.fullmatch(text.replace("{version}", "0")) or ".." in text:
        raise ValueError(f"expected a git tag or branch such as 'v{{version}}', not {text!r}")
    return text


def _range_of(value: object) -> SpecifierSet:
    text = _quoted(value)
    if not isinstance(text, str):
        raise ValueError(f"expected a range such as '>=2.7,<3', not {value!r}")  # noqa: TRY004
    try:
        return SpecifierSet(_plain(text))
    except InvalidSpecifier:
        raise ValueError(f"expected a range such as '>=2.7,<3' (PEP 440), not {text!r}") from None


def _list_of_one(value: object) -> object:
    """Where most packages need one value, one value may stand for a list of one."""
    return [value] if isinstance(value, str | Unquoted) else value


def _whole_number(value: object) -> int:
    if not (isinstance(value, Unquoted) and value.text.isascii() and value.text.isdigit() and int(value.text[:9])):
        raise ValueError(f"expected a whole number above 0, not {value!r}")
    return int(value.text[:9])


def _truth(value: object) -> bool:
    if not (isinstance(value, Unquoted) and value.text in ("true", "false")):
        raise ValueError(f"expected true or false, not {value!r}")
    return value.text == "true"


def _licence(text: str) -> str:
    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        raise ValueError(f"expected an SPDX expression such as 'BSD-3-Clause', not {text!r}") from None


def _sha256(text: str) -> Sha256:
    return Sha256(_hexadecimal(text, 64))


def _commit(text: str) -> str:
    return _hexadecimal(text, 40)


def _hexadecimal(text: str, digits: int) -> str:
    if len(text) != digits or set(text) - set("0123456789abcdef"):
        raise ValueError(f"expected {digits} lower-case hexadecimal digits, not {text!r}")
    return text


def _sdist(text: str) -> str:
    try:
        canonicalize_name(parse_sdist_filename(text)[0], validate=True)  # which refuses folders
    except (InvalidName, InvalidSdistFilename):
        raise ValueError(f"expected the file name of a source distribution, not {text!r}") from None
    return text


def _platform(text: str) -> Platform:
    if text not in PLATFORMS:
        raise ValueError(f"expected {' or '.join(PLATFORMS)}, not {text!r}")
    return Platform(text)


Text = Annotated[str, BeforeValidator(_quoted), AfterValidator(_plain)]
Name = Annotated[ProjectName, BeforeValidator(_quoted), AfterValidator(_plain), AfterValidator(_normalized)]
UpstreamVersion = Annotated[
    ProjectVersion, BeforeValidator(_quoted), AfterValidator(_plain), AfterValidator(project_version)
]
UpstreamVersions = Annotated[list[UpstreamVersion], Field(min_length=1), AfterValidator(_distinct_versions)]
Range = Annotated[SpecifierSet, PlainValidator(_range_of, json_schema_input_type=str)]
Arguments = Annotated[BuildArguments, PlainValidator(_build_arguments, json_schema_input_type=str)]
Requirements = Annotated[list[Annotated[Text, AfterValidator(index_requirement)]], AfterValidator(_distinct)]
Variable = Annotated[str, AfterValidator(_variable)]
Architectures = Annotated[list[Architecture], Field(min_length=1), AfterValidator(_distinct)]
Modules = Annotated[
    list[Annotated[Text, AfterValidator(_module)]],
    BeforeValidator(_list_of_one, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
Folder = Annotated[PurePosixPath, PlainValidator(_folder, json_schema_input_type=str)]
File = Annotated[PurePosixPath, PlainValidator(_file, json_schema_input_type=str)]
KnownPlatform = Annotated[Platform, AfterValidator(_platform)]
Platforms = Annotated[list[KnownPlatform], Field(min_length=1), AfterValidator(_distinct)]
WholeNumber = Annotated[int, PlainValidator(_whole_number, json_schema_input_type=PositiveInt)]
Truth = Annotated[bool, PlainValidator(_truth, json_schema_input_type=bool)]
Licence = Annotated[Text, AfterValidator(_licence)]
Hash = Annotated[Sha256, AfterValidator(_sha256)]
Hashes = Annotated[list[Hash], Field(min_length=1), AfterValidator(_distinct)]
Pin = Annotated[Text, AfterValidator(_pin)]
GitUrl = Annotated[Text, AfterValidator(_git_url)]
GitRef = Annotated[Text, AfterValidator(_git_ref)]
Commit = Annotated[str, AfterValidator(_commit)]
SdistName = Annotated[Text, AfterValidator(_sdist)]
EachKeyOnce = WrapValidator(_each_key_once)
