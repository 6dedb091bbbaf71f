"""Single values of ``packages.yml``: the accepted values, and the messages for others."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal, get_args

from wheelmill.config.fields import NUMBER, Items, Read, ReadIn, from_text, shown, text_of, text_that, whole_number
from wheelmill.system.files import refuse_links_out
from wheelmill.wheel.findings import Code, Level
from wheelmill.wheel.platforms import BUILT_FOR, PLATFORMS

_GIT_URL: Final = re.compile(r"(https://[A-Za-z0-9.-]+(:[0-9]+)?|file://)(/[A-Za-z0-9._~+-]+)+/?")
_GIT_REF: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+!-]*")
_RUNNERS: Final = tuple(runner for platform in BUILT_FOR for runner in PLATFORMS[platform].runners)
_CXX_STANDARDS: Final[Mapping[str, int | str]] = {"as-is": "as-is", "17": 17, "20": 20, "23": 23}
_ALLOWED_CODES: Final = {code.value: code for code in Code if code.level is not Level.ALWAYS}
_ENV_REFUSED: Final = re.compile(
    r"BASH_ENV|HOME|PATH|(LD_|GITHUB_|ACTIONS_|RUNNER_|PYTHON|PIP_|UV_|CIBW_|DOCKER_|WHEELMILL_).*", re.IGNORECASE
)

_WORD: Final = re.compile(r"[^\s\"'\\]+")
"""One word for nvcc, and for a shell that reads it from a variable."""
_FLAGS_WITH_KEYS: Final = {
    "compress-mode": "compress",
    **dict.fromkeys(("gencode", "generate-code", "arch", "gpu-architecture", "code", "gpu-code"), "architectures"),
}
"""Flags of nvcc that have a key of their own."""

MAX_JOBS: Final = 256
"""Jobs of one matrix (https://docs.github.com/en/actions/reference/limits)."""


@dataclass(frozen=True, kw_only=True)
class BuildArguments:
    """Settings of ``build_args`` for the build frontend."""

    isolation: bool = True
    """True installs the project's own ``build-system.requires`` for the build (PEP 518)."""
    config_settings: tuple[tuple[str, str], ...] = ()
    """Handed to the project's build backend (PEP 517)."""


ISOLATED: Final = BuildArguments()

ArchForm = Literal["dotted", "digits", "cmake"]
"""Forms of GPU architectures: ``8.0;9.0``, ``80;90``, or ``80-real;90`` as in CMake's own variables."""
ARCHITECTURES_IN: Final = {form: f"{{architectures:{form}}}" for form in get_args(ArchForm)}
"""Their placeholders in ``env``."""

OwnWheel = Literal["cudnn", "nccl", "nvshmem"]
"""NVIDIA's libraries that are in no toolkit, but in wheels of their own."""
_MathLibrary = Literal["cublas", "cufft", "curand", "cusolver", "cusparse", "npp", "nvjitlink", "nvjpeg"]
Component = Literal[OwnWheel, _MathLibrary, "cufile", "nvml", "nvrtc", "nvtx", "profiler-api"]
"""Components of CUDA for builds besides the compiler, the CUDA runtime and CCCL."""


def _build_arguments(value: object) -> BuildArguments:
    if not isinstance(value, str):
        raise ValueError(f"expected text such as '--no-build-isolation', not {value!r}")  # noqa: TRY004
    text = text_of(value)
    isolation = True
    settings = []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"quotes do not match: {error}") from None
    for word in words:
        option, _, given = word.partition("=")
        key, is_setting, setting = given.partition("=")
        if word == "--no-build-isolation":
            isolation = False
        elif option in ("--config-settings", "--config-setting") and key and is_setting:
            settings.append((key, setting))
        else:
            raise ValueError(f"expected --no-build-isolation or --config-settings=KEY=VALUE, not {word!r}")
    return BuildArguments(isolation=isolation, config_settings=tuple(settings))


def _variable(value: object) -> str:
    text = str(value)
    if not (text.isidentifier() and text.isascii()):
        raise ValueError(f"expected the name of an environment variable, not {text!r}")
    if text == "NVCC_APPEND_FLAGS":
        raise ValueError(f"{text} would take the place of flags that every build needs; nvcc_flags adds to them")
    if _ENV_REFUSED.fullmatch(text):
        raise ValueError(f"{text} belongs to the machine that builds and may not be set here")
    return text


def _variable_text(text: str) -> str:
    known = ARCHITECTURES_IN.values()
    if "{architectures" in functools.reduce(lambda rest, word: rest.replace(word, ""), known, text):
        raise ValueError(f"expected {' or '.join(known)} in the place of GPU architectures, not {text!r}")
    return text


def _flag(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise ValueError(f"expected one word for nvcc such as '-lineinfo', without spaces and quotes, not {text!r}")
    if key := _FLAGS_WITH_KEYS.get(text.partition("=")[0].lstrip("-")):
        raise ValueError(f"{text} does not belong here: the key {key} says it")
    return text


def _script(value: object, folder: Path | None) -> str:
    path = _inside(value, folder, "file", Path.is_file)
    return path.read_text(encoding="utf-8") if folder else ""  # raises a ValueError if it is not UTF-8


def _folder(value: object, folder: Path | None) -> Path:
    if "://" in str(value):
        url = text_of(value)
        raise ValueError(f"expected a folder; a git repository is written {{git: {url!r}, ref: 'v{{version}}'}}")
    return _inside(value, folder, "folder", Path.is_dir)


def _inside(value: object, folder: Path | None, kind: str, is_one: Callable[[Path], bool]) -> Path:
    if not isinstance(value, str):
        raise ValueError(f"expected a path, not {value!r}")  # noqa: TRY004
    text = text_of(value)
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"expected a path inside the configuration folder, not {text!r}")
    if folder is None:
        return Path(path)
    try:
        there = is_one(folder / path)
    except OSError:  # such as a name that is too long
        there = False
    if not there:
        raise ValueError(f"there is no {kind} '{path}' in the configuration folder")
    refuse_links_out(folder / path, folder)
    return folder / path


def _is_git_ref(text: str) -> bool:
    return _GIT_REF.fullmatch(text.replace("{version}", "0")) is not None and ".." not in text


def _subfolder(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"expected a folder of the repository such as 'python', not {text!r}")
    return str(path)


def _is_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _licence(text: str) -> str:
    from packaging.licenses import (  # a table of 700, which the client has no use for
        InvalidLicenseExpression,
        canonicalize_license_expression,
    )

    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        raise ValueError(f"expected an SPDX expression such as 'BSD-3-Clause', not {text!r}") from None


def _allowed_code(text: str) -> Code:
    if text in _ALLOWED_CODES:
        return _ALLOWED_CODES[text]
    if text in set(Code):
        raise ValueError(f"{text} is never allowed: it refuses a wheel whatever the reason")
    raise ValueError(f"expected the code of a finding, such as 'glibc', not {text!r}")


def _cxx_standard(value: object) -> int | str:
    if (standard := _CXX_STANDARDS.get(str(value))) is None:
        raise ValueError(f"expected one of {', '.join(_CXX_STANDARDS)}, not {shown(value)}")
    return standard


def _parts(value: object) -> int:
    parts = whole_number(value)
    if parts > MAX_JOBS:
        raise ValueError(f"expected at most {MAX_JOBS}, the jobs of one matrix, not {parts}")
    return parts


def _runner(text: str) -> str:
    if text not in _RUNNERS:
        raise ValueError(
            f"expected one of GitHub's own machines ({', '.join(_RUNNERS)}), not {text!r}; "
            "machines of your own are named in the repository's variable WHEELMILL_RUNNERS"
        )
    return text


AllowedCode = Annotated[Code, from_text(_allowed_code, {"type": "literal", "expected": [*_ALLOWED_CODES]})]
CxxStandard = Annotated[
    int | Literal["as-is"], Read(_cxx_standard, {"type": "literal", "expected": [*_CXX_STANDARDS.values()]})
]
Arguments = Annotated[BuildArguments, Read(_build_arguments)]
Variable = Annotated[str, Read(_variable)]
VariableText = Annotated[str, from_text(_variable_text)]
Flag = Annotated[str, from_text(_flag)]
Module = Annotated[str, text_that(_is_module, "a module such as 'flash_attn'")]
Modules = Annotated[tuple[Module, ...], Items(at_least=1, or_one=True)]
Folder = Annotated[Path, ReadIn(_folder)]
File = Annotated[Path, ReadIn(lambda value, folder: _inside(value, folder, "file", Path.is_file))]
Script = Annotated[str, ReadIn(_script)]
Licence = Annotated[str, from_text(_licence)]
GitUrl = Annotated[
    str, text_that(_GIT_URL.fullmatch, "the https:// or file:// address of a git repository, without a user")
]
GitRef = Annotated[str, text_that(_is_git_ref, "a git tag or branch such as 'v{version}'")]
Subfolder = Annotated[str, from_text(_subfolder)]
Runner = Annotated[str, from_text(_runner)]
Gigabytes = Annotated[int, Read(lambda value: whole_number(value) << 30, NUMBER)]
"""Kept as bytes."""
Parts = Annotated[int, Read(_parts, NUMBER | {"le": MAX_JOBS})]
Minutes = Annotated[int, Read(lambda value: whole_number(value) * 60, NUMBER)]
"""Kept as seconds."""
