"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from wheelmill import resources
from wheelmill.config.load import PACKAGES, load_config
from wheelmill.config.records import Config
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name, project_version
from wheelmill.plan.records import Filters
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.store import Store
from wheelmill.wheel.glibc import promised_glibc

Value = TypeVar("Value")


class Sandbox(StrEnum):
    """Where builds and clean rooms run."""

    LOCAL = "local"
    DOCKER = "docker"


def _list_option(name: str, text: str) -> object:
    return typer.Option(name, help=f"{text} Repeatable, commas allowed.", metavar="X")


Texts = list[str] | None
VersionOption = Annotated[Texts, _list_option("--version", "Upstream versions.")]
PythonOption = Annotated[Texts, _list_option("--python", "Pythons: 3.12, 3.13t.")]
CudaOption = Annotated[Texts, _list_option("--cuda", "CUDA releases: 13.0, cu130.")]
TorchOption = Annotated[Texts, _list_option("--torch", "torch minor releases: 2.11.")]
PlatformOption = Annotated[Texts, _list_option("--platform", "Platforms: linux_x86_64.")]
GroupOption = Annotated[Texts, _list_option("--group", "Groups, as --matrix names them.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Build again what is published.", envvar="WHEELMILL_FORCE")]

SandboxOption = Annotated[
    Sandbox, typer.Option("--sandbox", help="Where to build, and to try wheels.", envvar="WHEELMILL_SANDBOX")
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        help="Platform policy: auto, or a name; manylinux_2_28 by default in a container, auto elsewhere.",
        metavar="POLICY",
    ),
]
MemoryOption = Annotated[
    float | None,
    typer.Option(help="GiB that a build's container may use.", metavar="N", min=0.1, envvar="WHEELMILL_MEMORY"),
]
CpusOption = Annotated[
    int | None,
    typer.Option(help="Processors that a build's container may use.", metavar="N", min=1, envvar="WHEELMILL_CPUS"),
]
NetworkOption = Annotated[
    str,
    typer.Option(help="Docker's network for build containers.", metavar="NAME", envvar="WHEELMILL_NETWORK"),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration folder; ./config, else the one that ships.", metavar="DIR"),
]
StoreOption = Annotated[
    str,
    typer.Option(
        help="Where releases are kept: dir:PATH or github:OWNER/REPO.", metavar="STORE", envvar="WHEELMILL_STORE"
    ),
]

DEFAULT_STORE: Final = "dir:out/releases"


def filters_of(
    *,
    projects: Texts,
    version: Texts,
    python: Texts,
    cuda: Texts,
    torch: Texts,
    platforms: Texts,
    groups: Texts = None,
    force: bool,
) -> Filters:
    """Read the filter options.

    Raises:
        UsageError: one of the values is none of its kind.
    """
    return Filters(
        projects=_values("project", projects, project_name),
        versions=_values("--version", version, project_version),
        pythons=_values("--python", python, PythonVersion.parse),
        cudas=_values("--cuda", cuda, CudaVersion.parse),
        torches=_values("--torch", torch, TorchVersion.parse),
        platforms=_values("--platform", platforms, Platform),
        groups=_values("--group", groups, str),
        force=force,
    )


def for_this_machine(filters: Filters) -> Filters:
    """Narrow filters to what the local sandbox can build; no torch means the newest for each CUDA.

    Raises:
        UsageError: another platform was asked for.
    """
    own = Platform(f"linux_{platform.machine()}")
    if foreign := [name for name in filters.platforms if name != own]:
        raise UsageError(f"--platform: the local sandbox builds for {own}, not for {', '.join(foreign)}")
    return replace(filters, platforms=(own,), newest_torch=True)


def _values(option: str, texts: Texts, parse: Callable[[str], Value]) -> tuple[Value, ...]:
    words = [word.strip() for text in texts or () for word in text.split(",")]
    try:
        return tuple(dict.fromkeys(parse(word) for word in words if word))
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def config_at(directory: Path | None) -> Config:
    """Load the configuration folder."""
    return load_config(folder_at(directory))


def own_config_at(directory: Path | None) -> Config | None:
    """Load a configuration that says what is built here; the one that ships says what might be built elsewhere."""
    folder = folder_at(directory)
    return load_config(folder) if folder != resources.CONFIG and (folder / PACKAGES).exists() else None


def folder_at(directory: Path | None) -> Path:
    """The folder that was named, else ``./config``, else the one that ships with wheelmill."""
    own = Path("config")
    return directory or (own if own.is_dir() else resources.CONFIG)


def policy_for(sandbox: Sandbox, text: str | None) -> str:
    """Check the name of a platform policy before hours are spent on a build for it.

    In a container the published policy is the default; on any other machine the oldest that auditwheel grants there.
    """
    if text is None:
        return "auto" if sandbox is Sandbox.LOCAL else "manylinux_2_28"
    if text != "auto" and promised_glibc(text) is None:
        raise UsageError(f"--policy: expected auto or a name such as manylinux_2_28, not {text!r}")
    return text


def store_at(text: str) -> Store:
    """Open a store: ``dir:PATH`` or ``github:OWNER/REPO``.

    Raises:
        UsageError: it is neither.
    """
    kind, _, place = text.partition(":")
    if kind == "dir" and place:
        return DirectoryStore(directory=Path(place))
    if kind == "github":
        from wheelmill.release.github import GitHubStore, Repository  # noqa: PLC0415 - needs the factory extra

        return GitHubStore(repository=Repository.named(place, os.environ))
    raise UsageError(f"--store: expected dir:PATH or github:OWNER/REPO, not {text!r}")
