"""The options that say what wheels are for: to find some, or to build one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.records import TargetEnvironment
from wheelmill.client.target.detect import Overrides, detect_environment
from wheelmill.errors import UsageError
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    TorchVersion,
    project_name,
    read_requirement,
)
from wheelmill.wheel.platforms import PLATFORMS, Libc

if TYPE_CHECKING:
    from wheelmill.config.model import Config
    from wheelmill.plan.targets import BuildTarget

Value = TypeVar("Value")


def _option(name: str, text: str, metavar: str) -> object:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel="Target, found out where not given")


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The target: an interpreter, and facts that are not to be looked for."""

    python_path: Annotated[
        Path | None, _option("--python-path", "Target interpreter; the project's .venv by default.", "FILE")
    ] = None
    python: Annotated[str | None, _option("--python", "Python: 3.12, 3.13t.", "X")] = None
    torch: Annotated[str | None, _option("--torch", "torch: 2.11.", "X")] = None
    cuda: Annotated[str | None, _option("--cuda", "CUDA: 13.0, 130 or cu130.", "X")] = None
    platform: Annotated[str | None, _option("--platform", "Platform: linux_x86_64, win_amd64.", "X")] = None
    libc: Annotated[str | None, _option("--libc", "C library: 2.28, 'musl 1.2'.", "X")] = None
    cxx11_abi: Annotated[str | None, _option("--cxx11-abi", "C++11 ABI of torch: true or false.", "X")] = None
    driver: Annotated[str | None, _option("--driver", "NVIDIA driver: 580.65.06.", "X")] = None
    gpu: Annotated[list[str] | None, _option("--gpu", "GPU: 9.0 or sm_90. Repeatable, commas allowed.", "X")] = None

    def overrides(self) -> Overrides:
        """Read the facts that were given.

        Raises:
            UsageError: one of them is none of its kind.
        """
        return Overrides(
            python=_read("--python", self.python, PythonVersion.parse),
            platform=_read("--platform", self.platform, _platform),
            libc=_read("--libc", self.libc, Libc.parse),
            torch=_read("--torch", self.torch, TorchVersion.parse),
            cuda=_read("--cuda", self.cuda, CudaVersion.parse),
            cxx11_abi=_read("--cxx11-abi", self.cxx11_abi, _truth),
            driver=_read("--driver", self.driver, _driver),
            gpus=tuple(
                architecture
                for text in self.gpu or ()
                for word in text.split(",")
                if (architecture := _read("--gpu", word.strip() or None, _gpu))
            ),
        )

    def detect(self) -> TargetEnvironment:
        """Find out what was not given.

        Raises:
            UsageError: there is nothing to choose wheels for.
        """
        return detect_environment(self.python_path, self.overrides())


def requirements_of(texts: Sequence[str]) -> list[Requirement]:
    """Read requirements such as ``flash-attn>=2.7,<3``; two for one project become one.

    Raises:
        UsageError: a text is none, or one that no index could satisfy.
    """
    found: dict[str, Requirement] = {}
    for text in texts:
        try:
            asked = read_requirement(text)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if asked.url or asked.marker:
            raise UsageError(f"expected a name and a range of versions, without URL and marker: {text!r}")
        name = canonicalize_name(asked.name)
        if name in found:
            found[name].specifier &= asked.specifier
        else:
            found[name] = asked
    return list(found.values())


def projects_of(texts: Iterable[str]) -> list[ProjectName]:
    """Read names of projects, each once.

    Raises:
        UsageError: a text is none.
    """
    try:
        return list(dict.fromkeys(map(project_name, texts)))
    except ValueError as error:
        raise UsageError(str(error)) from None


def build_target(requirement: Requirement, environment: TargetEnvironment, config: Config) -> BuildTarget:
    """Say what to build for an environment: for its GPUs only.

    Raises:
        UsageError: ``packages.yml`` does not have the project, or no GPU is known.
        BuildError: no such wheel can be built.
    """
    from wheelmill.pipeline.here import target_here  # noqa: PLC0415 - needs the factory extra

    return target_here(
        requirement,
        config,
        python=environment.python,
        cuda=environment.cuda,
        torch=environment.torch,
        platform=environment.platform,
        architectures=tuple(sorted({gpu.capability for gpu in environment.gpus})),
    )


def _read(option: str, text: str | None, parse: Callable[[str], Value]) -> Value | None:
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _platform(text: str) -> Platform:
    if (platform := next((each for each in PLATFORMS if str(each) == text), None)) is None:
        raise ValueError(f"expected one of {', '.join(sorted(map(str, PLATFORMS)))}, not {text!r}")
    return platform


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"expected true or false, not {text!r}")
    return text.lower() == "true"


def _driver(text: str) -> str:
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts):  # noqa: PLR2004
        raise ValueError(f"expected a driver version such as 580.65.06, not {text!r}")
    return text


def _gpu(text: str) -> Architecture:
    """Read ``9.0``, ``90`` or ``sm_90``; the ``a`` of ``sm_90a`` is of code, not of a GPU."""
    number = text.removeprefix("sm_").rstrip("af")
    return Architecture.parse(f"{number[:-1]}.{number[-1]}" if number.isdigit() and len(number) > 1 else number)
