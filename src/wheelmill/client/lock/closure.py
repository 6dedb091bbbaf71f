"""The dependencies of chosen wheels, direct and indirect: resolved by uv, with hashes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import tomlkit
from packaging.pylock import Package, Pylock, PylockValidationError
from packaging.requirements import Requirement

from wheelmill.client.lock.markers import marker_environment
from wheelmill.client.records import Choice, TargetEnvironment
from wheelmill.errors import InstallError, UsageError
from wheelmill.installers.uv import compile_requirements, find_uv, run_installer, torch_options
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import PLATFORMS

_GLIBC_MINORS: Final = (17, 28, *range(31, 41))
"""Minor releases of glibc 2 for which uv has a platform."""


def closure_of(
    requirements: Iterable[str],
    *,
    without: Sequence[ProjectName],
    environment: TargetEnvironment,
    torch_place: str | None,
    known: Pylock | None,
    offline: bool,
    progress: Progress,
) -> tuple[Package, ...]:
    """Resolve requirements for an environment; only metadata is downloaded.

    Args:
        requirements: the requirements, in the form of PEP 508.
        without: projects that are left out, whoever requires them: their wheels were chosen already.
        environment: the environment that the packages are for.
        torch_place: where torch is, as `torch_options` takes it.
        known: a lock whose versions are kept where they still fit.
        offline: whether to do with what uv's own cache has.
        progress: shows the lines that uv prints.

    Returns:
        Entries of a lock: wheels only.

    Raises:
        InstallError: the requirements do not fit together, or the index does not answer.
        UsageError: there is no uv, or a package has no wheel.
    """
    uv = find_uv()
    if uv is None:
        raise UsageError(
            "uv-absent", "locking needs uv", hint="install uv: https://docs.astral.sh/uv/getting-started/installation/"
        )
    written = compile_requirements(
        sorted(set(requirements)),
        *("--python-version", str(environment.python).removesuffix("t")),
        *("--python-platform", _platform_of(environment)),
        *(("--python", environment.interpreter) if environment.interpreter else ()),
        *torch_options(torch_place),
        *(("--offline",) if offline else ()),
        kept=tomlkit.dumps(_preferences(known)) if known else None,
        without=sorted(without),
        run=lambda arguments, folder: run_installer([uv, *arguments], progress, cwd=folder),
    )
    try:
        packages = Pylock.from_dict(tomllib.loads(written)).packages
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise InstallError("lock-unreadable", f"the lock that uv wrote cannot be read: {error}") from None
    return tuple(_only_fitting_wheels(package, environment) for package in packages)


def requirements_of_choice(choice: Choice, environment: TargetEnvironment) -> Iterator[str]:
    """The requirements of a chosen wheel, including those of the extras that were asked for."""
    seen = {name: str(value) for name, value in marker_environment(environment).items()}
    for text in choice.requires_dist or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker and "extra" in str(marker):
            if not any(marker.evaluate(seen | {"extra": extra}) for extra in choice.extras):
                continue
            requirement.marker = None  # nothing asks uv for the extra
        yield str(requirement)


def _preferences(known: Pylock) -> dict[str, object]:
    """A lock without markers: uv prefers the versions in the file that it overwrites."""
    packages = [replace(package, marker=None) for package in known.packages]
    return dict(replace(known, packages=packages, environments=None, tool=None).to_dict())


def _only_fitting_wheels(package: Package, environment: TargetEnvironment) -> Package:
    """An entry without source distributions and foreign wheels: installing a lock builds nothing."""
    tags = environment.tag_places.keys()
    wheels = [wheel for wheel in package.wheels or () if WheelName.parse(wheel.filename).tags & tags]
    if not wheels:
        raise UsageError(
            "nothing-to-lock-for",
            f"{package.name} {package.version} has no wheel for this environment, so it cannot be locked",
            hint=f"ask for another version of {package.name}",
        )
    return Package(name=package.name, version=package.version, index=package.index, wheels=wheels)


def _platform_of(environment: TargetEnvironment) -> str:
    platform, libc = environment.platform, environment.libc
    uv = PLATFORMS[platform].uv if platform in PLATFORMS else None
    if uv is None:
        raise UsageError("lock-platform-unsupported", f"{platform}: locks are made for Linux and Windows only")
    if not platform.is_linux:
        return uv
    if libc is None:
        return f"{uv}-unknown-linux-gnu"
    if libc.family == "musl":
        return f"{uv}-unknown-linux-musl"
    minor = max((known for known in _GLIBC_MINORS if known <= libc.minor), default=None)
    if minor is None:
        raise UsageError("libc-too-old", f"{libc} is too old: no wheels are made for it")
    return f"{uv}-manylinux_2_{minor}"
