"""Single values of ``packages.yml``: what may stand there, and what is said of anything else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo

from wheelmill.config.fields import Text, list_of_one, plain
from wheelmill.config.model import BuildArguments
from wheelmill.wheel.platforms import BUILT_FOR, PLATFORMS

_GIT_URL: Final = re.compile(r"(https://[A-Za-z0-9.-]+(:[0-9]+)?|file://)(/[A-Za-z0-9._~+-]+)+/?")
_GIT_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+!-]*")
_RUNNERS: Final = tuple(runner for platform in BUILT_FOR for runner in PLATFORMS[platform].runners)
_ENV_REFUSED: Final = ("BASH_ENV", "HOME", "PATH")
_ENV_PREFIXES_REFUSED: Final = (
    "LD_",
    "GITHUB_",
    "ACTIONS_",
    "RUNNER_",
    "PYTHON",
    "PIP_",
    "UV_",
    "CIBW_",
    "DOCKER_",
    "WHEELMILL_",
)


def _build_arguments(value: object) -> BuildArguments:
    if isinstance(value, BuildArguments):
        return value
    if not isinstance(value, str):
        raise ValueError(f"expected text such as '--no-build-isolation', not {value!r}")  # noqa: TRY004
    text = plain(value)
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


def _folder(value: object, info: ValidationInfo) -> PurePosixPath:
    return _inside(value, info, "folder", Path.is_dir)


def _file(value: object, info: ValidationInfo) -> PurePosixPath:
    return _inside(value, info, "file", Path.is_file)


def _script(value: object, info: ValidationInfo) -> PurePosixPath:
    path = _file(value, info)
    if info.context:
        (info.context / path).read_text(encoding="utf-8")  # raises a ValueError where it is not that
    return path


def _inside(value: object, info: ValidationInfo, kind: str, is_one: Callable[[Path], bool]) -> PurePosixPath:
    if not isinstance(value, str):
        raise ValueError(f"expected a path, not {value!r}")  # noqa: TRY004
    text = plain(value)
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"expected a path inside the configuration folder, not {text!r}")
    try:
        there = not info.context or is_one(info.context / path)
    except OSError:  # such as a name that is too long
        there = False
    if not there:
        raise ValueError(f"there is no {kind} '{path}' in the configuration folder")
    return path


def _git_url(text: str) -> str:
    if not _GIT_URL.fullmatch(text):
        raise ValueError(f"expected the https:// or file:// address of a git repository, without a user, not {text!r}")
    return text


def _git_ref(text: str) -> str:
    if not _GIT_REF.fullmatch(text.replace("{version}", "0")) or ".." in text:
        raise ValueError(f"expected a git tag or branch such as 'v{{version}}', not {text!r}")
    return text


def _licence(text: str) -> str:
    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        raise ValueError(f"expected an SPDX expression such as 'BSD-3-Clause', not {text!r}") from None


def _runner(text: str) -> str:
    if text not in _RUNNERS:
        raise ValueError(
            f"expected one of GitHub's own machines ({', '.join(_RUNNERS)}), not {text!r}; "
            "machines of your own are named in the repository's variable WHEELMILL_RUNNERS"
        )
    return text


Arguments = Annotated[BuildArguments, PlainValidator(_build_arguments, json_schema_input_type=str)]
Variable = Annotated[str, AfterValidator(_variable)]
Modules = Annotated[
    list[Annotated[Text, AfterValidator(_module)]],
    BeforeValidator(list_of_one, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
Folder = Annotated[PurePosixPath, PlainValidator(_folder, json_schema_input_type=str)]
File = Annotated[PurePosixPath, PlainValidator(_file, json_schema_input_type=str)]
Script = Annotated[PurePosixPath, PlainValidator(_script, json_schema_input_type=str)]
Licence = Annotated[Text, AfterValidator(_licence)]
GitUrl = Annotated[Text, AfterValidator(_git_url)]
GitRef = Annotated[Text, AfterValidator(_git_ref)]
Runner = Annotated[Text, AfterValidator(_runner)]
