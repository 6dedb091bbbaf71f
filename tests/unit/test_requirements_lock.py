"""The lock is closed: set-up installs it as it stands and resolves nothing."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCK = [
    Requirement(line.removesuffix("\\"))
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line and not line.startswith(("#", " "))
]
SYSTEMS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "Linux on ARM": {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "aarch64",
    },
    "Windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
}


def this_environment() -> dict[str, str]:
    return {name: str(value) for name, value in default_environment().items()}


def environment(python: str, system: str) -> dict[str, str]:
    """What markers are compared with in a CPython of a system."""
    told = {"python_version": python, "python_full_version": f"{python}.0", "implementation_version": f"{python}.0"}
    return {**this_environment(), **SYSTEMS[system], **told}


def is_meant(required: Requirement, there: dict[str, str]) -> bool:
    return required.marker is None or required.marker.evaluate(there)


def locked_in(there: Mapping[str, str]) -> Mapping[NormalizedName, Version]:
    """The versions that the lock pins in an environment."""
    pins = [pin for pin in LOCK if is_meant(pin, dict(there))]
    return {canonicalize_name(pin.name): Version(next(iter(pin.specifier)).version) for pin in pins}


def asked_for() -> Iterator[Requirement]:
    """What pyproject.toml asks for, with every extra and group."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = content["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *content["dependency-groups"].values(),
    ]
    return map(Requirement, itertools.chain.from_iterable(lists))


@cache
def requirements_of(name: NormalizedName) -> tuple[Requirement, ...]:
    """What a locked distribution requires, its extras included; of one that is for another system nothing is known."""
    try:
        return tuple(map(Requirement, distribution(name).requires or ()))
    except PackageNotFoundError:
        return ()


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_each_requirement_of_each_locked_distribution_is_met_within_the_lock(python: str, system: str) -> None:
    there = environment(python, system)
    locked = locked_in(there)
    missing: set[str] = set()
    done: set[tuple[NormalizedName, str]] = set()  # of each distribution all requirements are looked at for an extra
    left = [required for required in asked_for() if is_meant(required, {**there, "extra": ""})]
    while left:
        required = left.pop()
        name = canonicalize_name(required.name)
        version = locked.get(name)
        if version is None or not required.specifier.contains(version, prereleases=True):
            missing.add(f"{required} (the lock has {version})")
        for extra in {"", *required.extras}:
            if (name, extra) not in done:
                done.add((name, extra))
                left += (each for each in requirements_of(name) if is_meant(each, {**there, "extra": extra}))
    assert missing == set()


def test_this_environment_has_the_locked_versions() -> None:
    locked = locked_in(this_environment())
    assert {name: Version(distribution(name).version) for name in locked} == locked
