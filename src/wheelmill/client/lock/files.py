"""Lock files, for one environment or several: PEP 751's ``pylock.toml``, and requirements with hashes.

https://packaging.python.org/en/latest/specifications/pylock-toml/
https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import tomlkit
from packaging.markers import Marker
from packaging.pylock import (
    Package,
    PackageWheel,
    Pylock,
    PylockSelectError,
    PylockValidationError,
    is_valid_pylock_path,
)
from packaging.version import Version

from wheelmill.client.install.distributions import read_start
from wheelmill.client.install.wheel_cache import WantedWheel
from wheelmill.client.lock.environments import EnvironmentLock, package_of
from wheelmill.client.lock.markers import distinguishing_markers, full_marker, marker_environment
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import NoWheelError, UsageError
from wheelmill.names import Sha256
from wheelmill.web.credentials import keep_credential

_CREATED_BY: Final = "wheelmill"
_MAX_LOCK: Final = 64 << 20
"""Bytes. A thousand packages with all their wheels have 10 MB."""
_JOINT: Final = " \\\n    "
"""The separator between the parts of a line of requirements."""


def merge(locks: Sequence[EnvironmentLock]) -> Pylock:
    """Merge the locks of several environments; what differs between them gets a marker.

    Returns:
        A lock that depends on nothing but its input: packages and wheels are sorted, and no time is in it.

    Raises:
        UsageError: environments differ in what they get and no marker tells them apart.
    """
    environments = [lock.resolution.environment for lock in locks]
    entries: dict[tuple[str, str], list[tuple[int, Package]]] = {}
    for place, lock in enumerate(locks):
        for package in lock.packages:
            entries.setdefault((package.name, str(package.version)), []).append((place, package))
    packages = []
    for key in sorted(entries):
        found = entries[key]
        marker = None
        if len(found) < len(locks):
            markers = distinguishing_markers(environments)
            marker = Marker(" or ".join(sorted(f"({markers[place]})" for place, _ in found)))
        packages.append(_one_of([package for _, package in found], marker))
    return Pylock(
        lock_version=Version("1.0"),
        environments=[Marker(text) for text in sorted({full_marker(environment) for environment in environments})],
        created_by=_CREATED_BY,
        packages=packages,
        tool={"wheelmill": {"environments": sorted(map(_describe, environments), key=str)}},
    )


def _one_of(packages: Sequence[Package], marker: Marker | None) -> Package:
    wheels = {wheel.filename: wheel for package in packages for wheel in package.wheels or ()}
    first = packages[0]
    return Package(
        name=first.name,
        version=first.version,
        marker=marker,
        index=first.index,
        wheels=[wheels[name] for name in sorted(wheels)],
    )


def _describe(environment: TargetEnvironment) -> dict[str, str]:
    facts = {
        "python": environment.python,
        "platform": environment.platform,
        "torch": environment.torch,
        "cuda": environment.cuda,
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def pylock_text(lock: Pylock) -> bytes:
    """A lock as TOML, always in the same way."""
    return tomlkit.dumps(lock.to_dict()).encode()


def requirements_text(locks: Sequence[EnvironmentLock]) -> bytes:
    """Write a line for every package: chosen wheels by their URL, the others by their version.

    What environments differ in has a line for each of them, with a marker.

    Raises:
        UsageError: no marker tells environments apart that differ.
    """
    found: dict[str, dict[int, tuple[str, str]]] = {}
    for place, lock in enumerate(locks):
        for name, line in _lines(lock):
            found.setdefault(name, {})[place] = line
    written = []
    for name in sorted(found):
        lines = found[name]
        if len(lines) == len(locks) and len(set(lines.values())) == 1:
            written.append(_JOINT.join(part for part in lines[0] if part))
        else:
            markers = distinguishing_markers([lock.resolution.environment for lock in locks])
            for place, (requirement, hashes) in sorted(lines.items()):
                written.append(_JOINT.join([f"{requirement} ; {markers[place]}", hashes]))
    return "".join(f"{line}\n" for line in written).encode()


def _lines(lock: EnvironmentLock) -> Iterator[tuple[str, tuple[str, str]]]:
    """The name of every package, with its requirement and its hashes."""
    for choice in lock.resolution.choices.values():
        package = package_of(choice.candidate)
        yield package.name, (f"{package.name} @ {choice.candidate.url}", _hashes(package))
    for package in lock.others:
        yield package.name, (f"{package.name}=={package.version}", _hashes(package))


def _hashes(package: Package) -> str:
    hashes = {f"--hash={name}:{value}" for wheel in package.wheels or () for name, value in wheel.hashes.items()}
    return _JOINT.join(sorted(hashes))


def check_name(path: Path) -> None:
    """Refuse a file name that PEP 751 does not allow for locks.

    Raises:
        UsageError: it is such a name.
    """
    if not is_valid_pylock_path(path):
        raise UsageError(
            "lock-name-invalid",
            f"{path.name}: a lock must be named pylock.toml or pylock.<name>.toml (PEP 751)",
            hint="--format requirements writes requirements with hashes, to a file of any name",
        )


def read_toml(path: Path) -> dict[str, Any]:
    """Read a lock of any form.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no TOML, or larger than any lock.
        RecursionError: it is nested too deep.
    """
    content = read_start(path, _MAX_LOCK)
    if len(content) > _MAX_LOCK:
        raise ValueError(f"it has more than {_MAX_LOCK} bytes")
    return tomllib.loads(content.decode())


def read_lock(path: Path) -> Pylock:
    """Read any program's lock.

    Raises:
        UsageError: there is no such file, or it is no lock.
    """
    try:
        return Pylock.from_dict(read_toml(path))
    except FileNotFoundError:
        raise UsageError("lock-absent", f"there is no {path}", hint="'wheelmill lock' writes it") from None
    except (ValueError, RecursionError, PylockValidationError) as error:
        hint = "'pip install -r' or 'uv pip sync' installs requirements" if path.suffix == ".txt" else None
        raise UsageError("lock-invalid", f"{path} is not a lock (PEP 751): {error}", hint=hint) from None


def wheels_for(lock: Pylock, environment: TargetEnvironment) -> tuple[WantedWheel, ...]:
    """The wheels that a lock holds for an environment.

    Raises:
        NoWheelError: the lock is for other environments, or has no wheel for this one.
        UsageError: it holds something else than wheels, or no sha256 of one.
    """
    try:
        selected = list(lock.select(environment=marker_environment(environment), tags=list(environment.tag_places)))
    except PylockSelectError as error:
        raise NoWheelError(
            "lock-for-another",
            f"the lock is not for {environment.python} on {environment.platform}: {error}",
            hint="'wheelmill lock' makes one that is",
        ) from None
    wanted = []
    for package, artifact in selected:
        if not isinstance(artifact, PackageWheel) or artifact.url is None or "sha256" not in artifact.hashes:
            raise UsageError(
                "lock-incomplete",
                f"the lock has no wheel of {package.name} with a URL and a sha256",
                hint="'wheelmill lock' writes a lock that has both",
            )
        wanted.append(
            WantedWheel(
                filename=artifact.filename,
                url=keep_credential(artifact.url),
                sha256=Sha256(artifact.hashes["sha256"]),
                size=artifact.size,
            )
        )
    return tuple(wanted)
