"""The form of the files under ``config/``: what may stand in them, and what is said of anything else."""

from __future__ import annotations

import datetime as dt
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidName,
    InvalidSdistFilename,
    canonicalize_name,
    canonicalize_version,
    parse_sdist_filename,
)
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from wheelmill.config.document import Unquoted
from wheelmill.config.records import BuildArguments
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    ProjectName,
    ProjectVersion,
    PythonVersion,
    Sha256,
    TorchVersion,
    project_name,
    project_version,
)

DEFAULT_ARCHITECTURES: Final = tuple(
    Architecture.parse(text) for text in ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")
)
"""Turing to Blackwell, with PTX for what comes later; within a major, machine code runs on later minors."""

PLATFORMS: Final = (Platform("linux_x86_64"), Platform("linux_aarch64"))

Item = TypeVar("Item")

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


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise ValueError(f"expected a requirement such as 'ninja>=1.11' (PEP 508), not {text!r}") from None
    if requirement.url:
        raise ValueError(f"expected a requirement from the package index, not from a URL: {text!r}")
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


def _inner_path(value: object, info: ValidationInfo) -> PurePosixPath:
    if not isinstance(value, str):
        raise ValueError(f"expected a path, not {value!r}")  # noqa: TRY004
    text = _plain(value)
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"expected a path inside the configuration folder, not {text!r}")
    if info.context and not (info.context / path).is_dir():
        raise ValueError(f"there is no folder {text!r} in the configuration folder")
    return path


def _sha256(text: str) -> Sha256:
    if len(text) != 64 or set(text) - set("0123456789abcdef"):  # noqa: PLR2004
        raise ValueError(f"expected 64 lower-case hexadecimal digits, not {text!r}")
    return Sha256(text)


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


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class PackageEntry(_Entry):
    """One package: what upstream calls it, how it is built and how it is known to work."""

    versions: Annotated[list[UpstreamVersion], Field(min_length=1), AfterValidator(_distinct_versions)]
    build_args: Annotated[BuildArguments, PlainValidator(_build_arguments)] = BuildArguments(
        isolation=True, config_settings=()
    )
    extra_deps: Annotated[list[Annotated[Text, AfterValidator(_requirement)]], AfterValidator(_distinct)] = []
    env: dict[Annotated[str, AfterValidator(_variable)], Text] = {}
    architectures: Annotated[list[Architecture], Field(min_length=1), AfterValidator(_distinct)] = list(
        DEFAULT_ARCHITECTURES
    )
    test_import: Annotated[Text, AfterValidator(_module)] | None = None
    description: Text = ""
    source: Annotated[PurePosixPath, PlainValidator(_inner_path)] | None = None


class PackagesFile(_Entry):
    """``packages.yml``."""

    packages: dict[Name, PackageEntry]


class CudaEntry(_Entry):
    """One CUDA release."""

    toolkit: UpstreamVersion
    architectures: Annotated[list[Architecture], Field(min_length=1), AfterValidator(_distinct)]


class TorchEntry(_Entry):
    """One torch minor release."""

    release: UpstreamVersion
    cuda: Annotated[list[CudaVersion], Field(min_length=1), AfterValidator(_distinct)]
    python: Annotated[list[PythonVersion], Field(min_length=1), AfterValidator(_distinct)]


class _Facts(_Entry):
    checked: dt.date
    source: str


class CudaFacts(_Facts):
    """CUDA releases, with where and when they were looked up."""

    releases: Annotated[dict[CudaVersion, CudaEntry], WrapValidator(_each_key_once)]


class TorchFacts(_Facts):
    """torch releases, with where and when they were looked up."""

    releases: Annotated[dict[TorchVersion, TorchEntry], WrapValidator(_each_key_once)]


class CompatibilityFile(_Entry):
    """``compatibility.yml``."""

    cuda: CudaFacts
    torch: TorchFacts
    platforms: Annotated[
        list[Annotated[Platform, AfterValidator(_platform)]], Field(min_length=1), AfterValidator(_distinct)
    ]


class SdistEntry(_Entry):
    """One locked source distribution."""

    sdist: Annotated[Text, AfterValidator(_sdist)]
    sha256: Annotated[Sha256, AfterValidator(_sha256)]


class LockFile(_Entry):
    """``packages.lock``."""

    sdists: dict[Name, Annotated[dict[UpstreamVersion, SdistEntry], WrapValidator(_each_key_once)]]
